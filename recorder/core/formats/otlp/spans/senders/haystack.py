"""Spans of Haystack in the names of the GenAI conventions: it writes its own, and values as JSON.

Releases until 2 have a span `haystack.component.run` for each component, of which generators are model calls.
From 3 on an agent has `haystack.agent.step.llm` and, for each tool call, `haystack.agent.step.tool`. Messages
are there only if content is traced (`HAYSTACK_CONTENT_TRACING_ENABLED`); model and usage are in the answers.
"""

from __future__ import annotations

from collections.abc import Iterator

from recorder.core.formats.base import Fields, object_field
from recorder.core.formats.otlp.spans.attributes import decoded, decoded_object, first_text
from recorder.core.records import Json

_TYPE = "haystack.component.type"
_AGENT, _LLM, _TOOL = "haystack.agent.run", "haystack.agent.step.llm", "haystack.agent.step.tool"
_GENERATORS = ("ChatGenerator", "Generator")  # ends of the classes of model calls
_PROVIDERS = {
    "AzureOpenAI": "azure",
    "AzureOpenAIResponses": "azure",
    "OpenAIResponses": "openai",
    "AmazonBedrock": "bedrock",
    "AnthropicVertex": "anthropic",
    "GoogleGenAI": "google",
    "GoogleAIGemini": "google",
    "VertexAIGemini": "google",
    "HuggingFaceAPI": "huggingface",
    "HuggingFaceLocal": "huggingface",
}


def with_genai_names(name: str, attributes: Fields) -> Fields:
    """Return the attributes of a span with those that it lacks in GenAI's names, if it is one of Haystack."""
    kind = attributes.get(_TYPE)
    if isinstance(kind, str) and kind.endswith(_GENERATORS):
        return _call(attributes, "haystack.component") | _provider(kind) | attributes
    if name == _LLM:
        return _call(attributes, _LLM) | attributes
    if name == _TOOL and first_text(attributes, ("haystack.tool.name",)):
        return _tool(attributes) | attributes
    agent: Fields = {"gen_ai.operation.name": "invoke_agent"} if name == _AGENT else {}
    return agent | attributes


def _call(attributes: Fields, before: str) -> Fields:
    sent = decoded_object(attributes.get(f"{before}.input"))
    answer = decoded_object(attributes.get(f"{before}.output"))
    replies, prompt = _list(answer.get("replies")), sent.get("prompt")
    first_reply = next((each for each in replies if isinstance(each, dict)), {})
    metas = _list(answer.get("meta"))  # beside replies that are plain texts
    meta = _of(first_reply, "meta") or next((each for each in metas if isinstance(each, dict)), {})
    meta = meta if isinstance(meta, dict) else {}
    messages = _list(sent.get("messages"))
    prompts: list[Json] = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else []
    found: Fields = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": [*map(_message, messages)] or prompts,
        "gen_ai.output.messages": [*map(_message, replies)],
        "gen_ai.response.model": meta.get("model"),
        "gen_ai.usage": object_field(meta, "usage"),
        "gen_ai.response.finish_reasons": [meta["finish_reason"]] if meta.get("finish_reason") else None,
    }
    return {key: value for key, value in found.items() if value}


def _provider(kind: str) -> Fields:
    own = next(kind.removesuffix(end) for end in _GENERATORS if kind.endswith(end))
    return {"gen_ai.provider.name": _PROVIDERS.get(own, own.lower())} if own else {}


def _tool(attributes: Fields) -> Fields:
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": attributes["haystack.tool.name"],
        "gen_ai.tool.call.arguments": attributes.get(f"{_TOOL}.input"),
        "gen_ai.tool.call.result": attributes.get(f"{_TOOL}.output"),
    }


def _message(message: Json) -> Json:
    """Return a message in GenAI's form; a reply may be a plain text."""
    if not isinstance(message, dict):
        return {"role": "assistant", "content": message if isinstance(message, str) else ""}
    content = decoded(_of(message, "content"))
    parts = [part for each in content for part in _parts(each)] if isinstance(content, list) else content
    role = _of(message, "role")
    return {"role": role if isinstance(role, str) else "user", "parts": parts}


def _parts(part: Json) -> Iterator[Json]:
    if not isinstance(part, dict):
        return
    call, result = object_field(part, "tool_call"), object_field(part, "tool_call_result")
    if call:
        yield {"type": "tool_call", "id": call.get("id"), "name": call.get("tool_name"),
               "arguments": call.get("arguments")}  # fmt: skip
    elif result:
        origin = object_field(result, "origin")
        yield {"type": "tool_call_response", "id": origin.get("id"), "name": origin.get("tool_name"),
               "response": result.get("result"), "is_error": result.get("error") is True}  # fmt: skip
    elif reasoning := object_field(part, "reasoning"):
        yield {"type": "reasoning", "content": reasoning.get("reasoning_text")}
    elif image := object_field(part, "image"):
        yield {"type": "blob", "modality": "image", "mime_type": image.get("mime_type"),
               "content": image.get("base64_image")}  # fmt: skip
    else:
        yield part


def _of(message: Fields, name: str) -> Json:
    """Return a field of a message; releases until 2.8 write it with an underscore."""
    found = message.get(name)
    return message.get(f"_{name}") if found is None else found


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []

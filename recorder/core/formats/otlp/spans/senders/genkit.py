"""Spans of Genkit in the names of the GenAI conventions: it writes its own, and values as JSON.

Each action is a span, with its kind in `genkit:metadata:subtype`. A model is named with its plugin before it,
as `googleai/gemini-2.5-flash`; its messages and usage are in its input and output. Flows, prompts and the
helpers around a call are frames.
"""

from __future__ import annotations

from collections.abc import Iterator

from recorder.core.formats.base import Fields, object_field
from recorder.core.formats.otlp.spans.attributes import decoded_object, first_text
from recorder.core.records import Json

TYPE = "genkit:type"
_KIND = "genkit:metadata:subtype"
_PROVIDERS = {"googleai": "google", "vertexai": "google", "google-genai": "google"}
_ROLES = {"model": "assistant"}


def genai_names(name: str, attributes: Fields) -> Fields:
    """Return attributes in GenAI's names for a model, a tool or an agent; none for another span."""
    kind = first_text(attributes, (_KIND,)).partition(".")[0]  # also `tool.v2`
    own = first_text(attributes, ("genkit:name",)) or name
    if kind in ("model", "background-model"):
        return _call(own, attributes)
    if kind == "tool":
        return {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": own,
            "gen_ai.tool.call.arguments": attributes.get("genkit:input"),
            "gen_ai.tool.call.result": attributes.get("genkit:output"),
        }
    return {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": own} if kind == "agent" else {}


def _call(own: str, attributes: Fields) -> Fields:
    sent = decoded_object(attributes.get("genkit:input"))
    answer = decoded_object(attributes.get("genkit:output"))
    first = next((each for each in _list(answer.get("candidates")) if isinstance(each, dict)), answer)
    plugin, _, model = own.rpartition("/")
    config = object_field(sent, "config")
    found: Fields = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": model,
        "gen_ai.provider.name": _PROVIDERS.get(plugin, plugin),
        "gen_ai.input.messages": [*map(_message, _list(sent.get("messages")))],
        "gen_ai.output.messages": [_message(first["message"])] if "message" in first else [],
        "gen_ai.tool.definitions": sent.get("tools"),
        "gen_ai.usage": object_field(answer, "usage"),
        "gen_ai.response.finish_reasons": first.get("finishReason"),
        "gen_ai.request.temperature": config.get("temperature"),
        "gen_ai.request.max_tokens": config.get("maxOutputTokens"),
    }
    return {key: value for key, value in found.items() if value}


def _message(message: Json) -> Json:
    if not isinstance(message, dict):
        return {"role": "user", "parts": []}
    role = str(message.get("role"))
    parts = [part for each in _list(message.get("content")) for part in _parts(each)]
    return {"role": _ROLES.get(role, role), "parts": parts}


def _parts(part: Json) -> Iterator[Json]:
    if not isinstance(part, dict):
        return
    request, response = object_field(part, "toolRequest"), object_field(part, "toolResponse")
    if request:
        yield {"type": "tool_call", "id": request.get("ref"), "name": request.get("name"),
               "arguments": request.get("input")}  # fmt: skip
    elif response:
        yield {"type": "tool_call_response", "id": response.get("ref"), "name": response.get("name"),
               "response": response.get("output")}  # fmt: skip
    elif isinstance(reasoning := part.get("reasoning"), str):
        yield {"type": "reasoning", "content": reasoning}
    elif media := object_field(part, "media"):
        yield {"type": "image_url", "image_url": {"url": media.get("url")}}
    elif isinstance(text := part.get("text"), str):
        yield {"type": "text", "content": text}


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []

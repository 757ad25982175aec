"""The forms of messages of a model call, read into the messages of native events.

Messages are JSON texts, flattened attributes (OpenInference), span events (GenAI until 1.36) or fields of one
vendor. Roles are `user`, `assistant`, `toolResult` and `system`; contents are blocks as in native events.
"""

from __future__ import annotations

import re

from recorder.core.formats.base import Fields
from recorder.core.formats.otlp.spans import names
from recorder.core.formats.otlp.spans.attributes import (
    decoded,
    decoded_list,
    decoded_object,
    first_count,
    integer,
)
from recorder.core.formats.otlp.spans.content.blocks import (
    blocks_of,
    call_block,
    is_block_list,
    plain_text,
    result_block,
    text_of_result,
)
from recorder.core.formats.otlp.spans.content.call_messages import Messages, blocks_of_answer
from recorder.core.formats.otlp.spans.content.forms import has_parts, messages_in, opened, plain_role
from recorder.core.formats.otlp.spans.content.hosted_calls import (
    first_of,
    is_item,
    parts_of,
    without_mark,
)
from recorder.core.formats.otlp.spans.content.thoughts import mark_first, without_tags
from recorder.core.formats.otlp.spans.usage import names as usage_names
from recorder.core.records import Json

_INDEXED = re.compile(
    r"(llm\.(?:(?:input|output)_messages|prompts|completions)|gen_ai\.(?:prompt|completion))\.(\d{1,6})\.(.+)"
)
_INDEXED_INPUT = ("llm.input_messages", "gen_ai.prompt", "llm.prompts")
_UNMARKED_THOUGHTS = frozenset(("google-adk",))  # emitters that write a thought as a text like any other
_ROLES = {
    "human": "user",
    "user": "user",
    "ai": "assistant",
    "assistant": "assistant",
    "model": "assistant",
    "chatbot": "assistant",  # Cohere
    "bot": "assistant",
    "agent": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "toolResult",
    "function": "toolResult",
    "toolresult": "toolResult",
    "tool_result": "toolResult",
}


def messages_of(attributes: Fields, events: list[tuple[str, Fields]], runtime: str = "") -> Messages:
    """Return the messages that the attributes and events of a span hold, in whichever form."""
    for name, fields in events:
        if name in names.CONTENT_EVENTS:
            attributes = fields | attributes
    found = Messages(system=_system(attributes))
    texts = [_listed(attributes.get(name), "user") for name in names.INPUT_MESSAGES]
    found.input = _inputs(next((each for each in texts if each), []), found)
    outputs = [_listed(attributes.get(name), "assistant") for name in names.OUTPUT_MESSAGES]
    for message in next((each for each in outputs if each), []):
        found.add_answer(message)
    if not found.input or not found.output:
        _read_indexed(attributes, found)
    if not found.output:
        found.add_blocks(_vendor_answer(attributes))
    if not found.input and not found.output:
        _read_events(attributes, events, found)
    _read_whole(attributes, found)
    if runtime in _UNMARKED_THOUGHTS and first_count(attributes, usage_names.REASONING):
        mark_first(found.output)
    found.output = without_tags(found.output)
    return found


def _listed(value: Json, role: str) -> list[Json]:
    """Return a list of messages that may be JSON, also within JSON or cut; an empty one for anything else.

    A list of parts is one message of the role. A list may have each message as a text in JSON.
    """
    found = opened(value)
    if isinstance(found, list) and all(isinstance(each, str) and each.startswith("{") for each in found):
        found = [opened(each) for each in found]
    if has_parts(found):
        return [{"role": role, "content": found}]
    return found if isinstance(found, list) and all(isinstance(each, dict) for each in found) else []


def _read_whole(attributes: Fields, found: Messages) -> None:
    """Read the request and the response as a whole, where nothing else has the messages."""
    found.is_whole = not found.input and not found.output
    for name in names.REQUESTS if not found.input else ():
        if (value := attributes.get(name)) not in (None, ""):
            found.input = _inputs(list(messages_in(value, "user")), found)
            break
    for name in names.RESPONSES if not found.output else ():
        if (value := attributes.get(name)) not in (None, ""):
            for message in messages_in(value, "assistant"):
                found.add_answer(message)
            break


def _system(attributes: Fields) -> str:
    value = decoded(attributes.get(names.SYSTEM_TEXT[0]))
    if isinstance(value, str):
        return value
    parts = value if isinstance(value, list) else []
    return "\n".join(str(first_of(each, "content", "text") or "") for each in parts if isinstance(each, dict))


def _inputs(values: list[Json], found: Messages) -> list[Fields]:
    """Return the input messages; system messages are added to the system prompt."""
    read: list[Fields] = []
    for value in values:
        for message in _messages(value):
            if message["role"] == "system":
                found.system = found.system or plain_text(message["content"])
            else:
                read.append(message)
    return read


def _messages(value: Json) -> list[Fields]:
    """Return the native messages of one message; one with several tool results gives several."""
    if not isinstance(value, dict):
        return []
    if is_item(value):
        return _response_item(value)
    role = _ROLES.get(plain_role(value.get("role") or value.get("type")), "user")
    parts = blocks_of(value)
    results = [part for part in parts if part["type"] == "result"]
    rest = [without_mark(part) for part in parts if part["type"] != "result"]
    if role == "toolResult" and not results:
        text = plain_text(list(rest))
        results = [
            result_block(str(first_of(value, "tool_call_id", "toolCallId", "id") or ""), "", text, value)
        ]
        rest = []
    found: list[Fields] = [{"role": "toolResult", **{k: v for k, v in each.items() if k != "type"}}
                           for each in results]  # fmt: skip
    if rest or (not results and role != "toolResult"):
        found.append({"role": role, "content": list(rest)})
    return found


def _response_item(value: Fields) -> list[Fields]:
    """Return the message of an item of OpenAI's Responses API."""
    if str(value["type"]).endswith("_output"):
        call_id, text = str(value.get("call_id") or ""), text_of_result(value.get("output"))
        result = result_block(call_id, "", text, value)
        return [{"role": "toolResult", **{k: v for k, v in result.items() if k != "type"}}]
    blocks = (without_mark(block) for block in blocks_of(value) if block["type"] != "result")
    return [{"role": "assistant", "content": list(blocks)}]


def _read_indexed(attributes: Fields, found: Messages) -> None:
    """Read `llm.input_messages.N.message.…` and `gen_ai.prompt.N.…`; N may start at 1 and have gaps.

    Input or output that is there in another form is left as it is.
    """
    groups: dict[tuple[bool, int], Fields] = {}
    for name, value in attributes.items():
        if match := _INDEXED.fullmatch(name):
            is_input = match[1] in _INDEXED_INPUT
            if found.input if is_input else found.output:
                continue
            path = match[3].removeprefix("message.").split(".")
            _put(groups.setdefault((is_input, int(match[2])), {}), path, value)
    for is_input, number in sorted(groups):
        message = _unflattened(groups[is_input, number])
        message |= _content(message, "content")
        if is_input:
            found.input += _inputs([message], found)
        else:
            found.add_answer(message)


def _put(target: Fields, path: list[str], value: Json) -> None:
    for name in path[:-1]:
        inner = target.setdefault(name, {})
        if not isinstance(inner, dict):
            return
        target = inner
    target[path[-1]] = value


def _unflattened(message: Fields) -> Fields:
    """Return a flattened message with lists in place of objects keyed by numbers."""
    calls = [call for call in decoded_list(message.get("tool_calls")) if isinstance(call, dict)]
    for call in _numbered(message.get("tool_calls")):
        inner = call.get("tool_call")
        calls.append(inner if isinstance(inner, dict) else call)
    found: Fields = {k: v for k, v in message.items() if k not in ("tool_calls", "contents")}
    parts: list[Json] = []
    for part in _numbered(message.get("contents")):
        inner = part.get("message_content")
        block = inner if isinstance(inner, dict) else part
        if block.get("type") not in ("tool_use", "tool_call"):  # the same call is in `tool_calls`
            parts.append(block)
    if parts:
        found["content"] = parts
    return found | {"tool_calls": [_with_function(call) for call in calls]}


def _with_function(call: Fields) -> Json:
    function = call.get("function")
    return call if isinstance(function, dict) else {"id": call.get("id"), **call}


def _numbered(value: Json) -> list[Fields]:
    if not isinstance(value, dict):
        return []
    keyed = [(integer(key), each) for key, each in value.items() if isinstance(each, dict)]
    return [
        each for _, each in sorted((pair for pair in keyed if pair[0] is not None), key=lambda p: p[0] or 0)
    ]


def _vendor_answer(attributes: Fields) -> list[Fields]:
    """Return the answer as the Vercel AI SDK and logfire for openai-agents write it."""
    found: list[Fields] = []
    for name, kind in (("ai.response.reasoning", "thinking"), ("ai.response.text", "text")):
        text = attributes.get(name)
        if isinstance(text, str) and text:
            found.append({"type": kind, kind: text})
    calls = (each for each in decoded_list(attributes.get("ai.response.toolCalls")) if isinstance(each, dict))
    found += [call_block(part) for each in calls for part in parts_of(each) if isinstance(part, dict)]
    if not found and isinstance(text := attributes.get("ai.response.object"), str):
        found.append({"type": "text", "text": text})
    responses = [decoded_object(attributes.get("response")), *decoded_list(attributes.get("output.value"))]
    for response in responses:
        if isinstance(response, dict) and isinstance(response.get("output"), list):
            found += blocks_of_answer(response | {"object": "response"})
    return found


def _read_events(attributes: Fields, events: list[tuple[str, Fields]], found: Messages) -> None:
    """Read one event a message: span events of GenAI until 1.36, or logfire's JSON list of them."""
    listed = [(str(each.get("event.name")), each) for each in decoded_list(attributes.get("events"))
              if isinstance(each, dict)]  # fmt: skip
    for name, sent in listed or events:
        fields = _event_fields(sent)
        if name == "gen_ai.choice":
            found.add_answer({"finish_reason": fields.get("finish_reason"), **_choice(fields)})
        elif name.startswith("gen_ai.") and name.endswith(".message"):
            role = name.split(".")[1]
            found.input += _inputs([{"role": role, **fields, **_content(fields, "content")}], found)
    is_call = len(listed or events) > 1 or "gen_ai.operation.name" in attributes  # and no record of a message
    if is_call and not found.output:  # logfire and Azure's agents end with the answer
        while found.input and found.input[-1]["role"] == "assistant":
            found.output = [*_list(found.input.pop()["content"]), *found.output]  # type: ignore[list-item]


def _event_fields(fields: Fields) -> Fields:
    """Return the fields of an event: Azure's clients write them as JSON, others so the tool calls."""
    found = fields | decoded_object(fields.get("gen_ai.event.content"))
    calls = decoded_list(found.get("tool_calls"))
    return found | ({"tool_calls": calls} if calls else {})


def _choice(fields: Fields) -> Fields:
    """Return the message of a `gen_ai.choice` event."""
    if not fields.get("message"):
        return fields
    message = decoded(fields["message"])
    calls: Fields = {"tool_calls": fields["tool_calls"]} if "tool_calls" in fields else {}
    return calls | (_event_fields(message) if isinstance(message, dict) else _content(fields, "message"))


def _content(fields: Fields, name: str) -> Fields:
    """Return the content of an event: a list of blocks may be JSON text."""
    value = decoded(fields.get(name))
    if not is_block_list(value):
        value = fields.get(name)
    return {"content": value} if value is not None else {}


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []

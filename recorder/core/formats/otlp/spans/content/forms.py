"""Messages in whichever form a sender wrote them: brings a value into a list of plain messages.

A value is a list, an object or a text: JSON, JSON within JSON, JSON that was cut, or a plain text. Objects
are requests and responses of providers, or messages of LangChain. What is no message is a text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from jiter import from_json

from recorder.core.events.fields import without_infinities
from recorder.core.formats import EVENT_VALUES
from recorder.core.formats.base import Fields
from recorder.core.formats.otlp.spans.content.blocks import CUT, is_block_list
from recorder.core.formats.otlp.spans.content.hosted_calls import is_item
from recorder.core.formats.python_text import as_json, is_bare
from recorder.core.formats.structure import has_more_values
from recorder.core.records import Json

_ESCAPES = 3  # times that JSON may be within JSON
_DEPTH = 8  # objects around messages
_ROLES = frozenset(("human", "user", "ai", "assistant", "model", "system", "developer", "tool", "function"))
_CONTENTS = ("content", "contents", "text")
# Fields that hold the messages of a request or a response, or a text, the first one that is there.
_INNER = (
    *("messages", "contents", "generations", "choices", "candidates", "output", "message", "input", "prompt"),
    *("response", "completion", "question", "query", "task", "text", "content", "result"),
    *("inputs", "outputs"),  # of what traceloop traces
    "combined_chunk_content",  # logfire: of a stream
)
_AROUND = frozenset(("role", "message", "kwargs", "generation_info", "messages"))  # fields of no block
_WITH_TEXT = frozenset((*_INNER, "role", "parts"))
_SYSTEM = ("system", "instructions", "system_prompt", "systemInstruction", "system_instruction")
_SAID = re.compile(r"^(system|user|assistant|tool): ", re.MULTILINE)
_TYPES = {
    "HumanMessage": "user",
    "AIMessage": "assistant",
    "SystemMessage": "system",
    "ToolMessage": "tool",
    "FunctionMessage": "tool",
}


def messages_in(value: Json, role: str) -> list[Fields]:
    """Return the messages in a value as objects with a role; `role` is that of a plain text."""
    found = list(_messages(opened(value), role, 0))
    return [] if found == [{"role": role, "content": ""}] else found


def plain_role(named: Json) -> str:
    """Return the name of a role, also of an enum (`Role.USER`, `ROLE_USER`) or a class (`AIMessageChunk`)."""
    name = str(named).rpartition(".")[2].removesuffix("Chunk").removesuffix("Message")
    return name.lower().removeprefix("role_")


def has_parts(value: Json) -> bool:
    """Return whether a value is a list of parts of one message, and not of messages."""
    if not isinstance(value, list) or not is_block_list(value):
        return False
    parts = [each for each in value if isinstance(each, dict)]
    return not any(
        _AROUND & each.keys() or is_item(each) or _is_stored(each) or _is_typed(each) for each in parts
    )


def opened(value: Json) -> Json:
    """Return a value whose text is decoded as far as it is JSON, also if it was escaped again or cut.

    A text that Python printed is decoded if it holds messages.
    """
    for _ in range(_ESCAPES):
        if isinstance(value, str) and (printed := as_json(value)):
            found = _loaded(printed)
            is_one = _has_fields_of_one(found) if is_bare(value) else _has_messages(found)
            return found if is_one else value
        if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "[", '"'):
            return value
        if has_more_values(value.encode(errors="replace"), EVENT_VALUES):
            return value
        found = _loaded(value)
        if found == value or not isinstance(found, str | list | dict):
            return value
        value = found
    return value


def _loaded(text: str) -> Json:
    """Return the value of JSON, also if it was cut; other text stays text."""
    try:
        return without_infinities(json.loads(text))
    except (ValueError, RecursionError):
        return _completed(text)


def _has_messages(value: Json, depth: int = 0) -> bool:
    """Return whether what Python printed may hold messages, and is no text that is Python by chance."""
    if isinstance(value, list) and value and depth < _DEPTH:
        is_pair = depth > 0 and len(value) == 2 and value[0] in tuple(_ROLES)
        return is_pair or _has_messages(value[0], depth + 1)
    return isinstance(value, dict) and not _WITH_TEXT.isdisjoint(value)


def _has_fields_of_one(value: Json) -> bool:
    """Return whether fields that Python printed are of a message or around some: `query='cats'` is a text."""
    return isinstance(value, dict) and (
        "content" in value or any(_has_messages(value[name]) for name in _WITH_TEXT & value.keys())
    )


def _completed(text: str) -> Json:
    """Return the value of JSON that ends too early, with a mark where it was cut; other text stays text."""
    if text.lstrip()[:2] not in ("[{", '{"', '["', "[[", '"[', '"{') and '":' not in text[:200]:
        return text
    try:
        found = from_json(text.encode(errors="replace"), partial_mode="trailing-strings")
    except ValueError:
        return text
    if isinstance(found, str):
        inner = opened(found)
        return inner if isinstance(inner, list | dict) else text
    return _marked(found) if isinstance(found, list | dict) and found else text


def _marked(value: Json) -> Json:
    """Return a value with the mark at the end of its last text."""
    if isinstance(value, str):
        return value + CUT
    if isinstance(value, list) and value:
        return [*value[:-1], _marked(value[-1])]
    if isinstance(value, dict) and value:
        *rest, last = value
        return {name: value[name] for name in rest} | {last: _marked(value[last])}
    return value


def _messages(value: Json, role: str, depth: int) -> Iterator[Fields]:
    if isinstance(value, list):
        yield from _of_list(value, role, depth)
    elif isinstance(value, dict):
        yield from _of_object(value, role, depth)
    elif isinstance(value, str):
        yield from _of_text(value, role)
    elif value is not None:
        yield {"role": role, "content": json.dumps(value)}


def _of_list(values: list[Json], role: str, depth: int) -> Iterator[Fields]:
    is_pair = len(values) == 2 and isinstance(values[1], str) and values[0] in tuple(_ROLES)
    if is_pair:  # LangChain's short form
        yield {"role": values[0], "content": values[1]}
    elif has_parts(values):
        yield {"role": role, "content": values}
    else:
        for value in values if depth < _DEPTH else ():
            yield from _messages(value, role, depth + 1)


def _of_text(text: str, role: str) -> Iterator[Fields]:
    """Yield the messages of a text: OpenLIT writes each with its role before it."""
    places = [*_SAID.finditer(text)] if role == "user" else []
    if not places or places[0].start():
        yield {"role": role, "content": text}
        return
    ends = [*(match.start() for match in places[1:]), len(text)]
    for match, end in zip(places, ends, strict=True):
        yield {"role": match[1], "content": text[match.end() : end].rstrip("\n")}


def _of_object(value: Fields, role: str, depth: int) -> Iterator[Fields]:
    arguments = value.get("args"), value.get("kwargs")
    if (message := _message_of(value, role)) is not None:
        yield message
    elif value.keys() <= {"args", "kwargs"} and any(isinstance(each, list | dict) for each in arguments):
        yield from _of_arguments(value, role)
    else:
        yield from _around(value, role, depth)


def _message_of(value: Fields, role: str) -> Fields | None:
    """Return the message that an object is, also one of LangChain or the Responses API; else None."""
    kwargs, names = value.get("kwargs"), value.get("id")
    if isinstance(kwargs, dict) and isinstance(names, list) and names:  # serialized by LangChain
        kind = str(names[-1]).removesuffix("Chunk")
        return kwargs | {"role": _TYPES.get(kind, str(kwargs.get("type") or role))}
    if isinstance(data := value.get("data"), dict) and _is_stored(value):
        return data | {"role": value["type"]}
    if _is_message(value):
        return value if "role" in value else value | {"role": value["type"]}
    has_text = "content" in value or isinstance(value.get("text"), str)
    if isinstance(value.get("parts"), list) or (has_text and isinstance(_calls(value), list)):
        return value | {"role": role}  # Gemini's instructions, and answers with nothing but what they say
    return value if is_item(value) else None


def _calls(message: Fields) -> Json:
    return message.get("tool_calls") or message.get("toolCalls")


def _is_stored(value: Fields) -> bool:
    """Return whether an object is a message as LangChain stores it: its type beside its data."""
    data = value.get("data")
    return isinstance(data, dict) and "content" in data and value.get("type") in tuple(_ROLES)


def _around(value: Fields, role: str, depth: int) -> Iterator[Fields]:
    """Yield the messages within a request, a response or another object around them."""
    settings = value.get("config")  # of a request of Google ADK
    for about in (value, settings if isinstance(settings, dict) else {}):
        for name in _SYSTEM if depth < _DEPTH else ():
            if isinstance(about.get(name), str | list | dict) and about[name]:
                yield from _messages(about[name], "system", depth + 1)
    for name in _INNER if depth < _DEPTH else ():
        if isinstance(inner := value.get(name), str | list | dict) and inner:
            finish = value.get("finish_reason") or value.get("finishReason")
            thought = value.get("reasoning") if isinstance(inner, str) else None
            beside = {"reasoning": thought} if isinstance(thought, str) else {}
            for message in _messages(inner, "assistant" if name == "generations" else role, depth + 1):
                yield message | beside | ({"finish_reason": finish} if finish else {})
            return
    if value.get("messages") != []:
        yield {"role": role, "content": json.dumps(value, ensure_ascii=False) if value else ""}


def _of_arguments(value: Fields, role: str) -> Iterator[Fields]:
    """Yield the first text among the arguments of a function that is traced as an agent."""
    positional, named = value.get("args"), value.get("kwargs")
    values = [
        *(positional if isinstance(positional, list) else ()),
        *(named.values() if isinstance(named, dict) else ()),
    ]
    text = next((each for each in values if isinstance(each, str) and each), None)
    yield {"role": role, "content": text if text is not None else json.dumps(value, ensure_ascii=False)}


def _is_message(value: Json) -> bool:
    if not isinstance(value, dict):
        return False
    return _is_typed(value) or (
        "role" in value and bool(value.keys() & {"content", "parts", "contents", "tool_calls"})
    )


def _is_typed(value: Fields) -> bool:
    """Return whether the type of an object is its role, or a class such as AutoGen's `UserMessage`."""
    kind = value.get("type")
    return isinstance(kind, str) and not value.keys().isdisjoint(_CONTENTS) and plain_role(kind) in _ROLES

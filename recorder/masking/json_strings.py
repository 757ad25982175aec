"""Finds the strings of a line of JSON that may be masked, and those that belong to its envelope.

Only the inside of strings is ever replaced, so a line stays valid JSON and its numbers stay. Keys of objects
are strings as well. The ids and times by which the recorder places a line stay if they look like ones: the
fields `IDS`, `ID_LISTS` and `TIMES` of its outermost object, and the ids and times of OpenTelemetry wherever
they stand. Names of types stay but for definite secrets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Literal, NamedTuple, get_args

from jiter import from_json

from recorder.core.events import Event
from recorder.core.events.base import fields_of
from recorder.core.events.fields import ids_of, is_id
from recorder.core.formats.base import strip_sse_framing

StringKind = Literal["value", "key", "envelope", "type"]

_NATIVE = {name for model in get_args(Event) for name in ids_of(model)}
_NATIVE_LISTS = {
    name
    for model in get_args(Event)
    for name in ids_of(model)
    if "tuple" in str(fields_of(model)[name].annotation)
}
_NATIVE_TIMES = {
    name
    for model in get_args(Event)
    for name, field in fields_of(model).items()
    if "datetime" in str(field.annotation)
}
# Of the outermost object, in any format.
ID_LISTS = frozenset(_NATIVE_LISTS | {"ids"})
IDS = frozenset(_NATIVE - _NATIVE_LISTS) | frozenset(
    """id uuid parentUuid parent_id parentId root_id logicalParentUuid leafUuid sessionId sessionID
    session_id task_id turn_id turnId agentId agent_id messageId messageID message_id requestId request_id
    promptId toolUseId toolUseID tool_use_id toolCallId tool_call_id call_id callID sourceToolAssistantUUID
    thread_id""".split()
)
TIMES = frozenset(_NATIVE_TIMES) | frozenset(
    """time at created created_at createdAt updated_at updatedAt started_at startedAt ended_at endedAt
    finished_at startTime lastUpdated last_active_at""".split()
)
TYPES = frozenset("type event_type item_type kind table".split())
_TRACE = frozenset(
    """traceId spanId parentSpanId startTimeUnixNano endTimeUnixNano timeUnixNano observedTimeUnixNano
    intValue""".split()
)
_TRACE_VALUE = re.compile(rb"[0-9a-fA-F]{16,32}|-?[0-9]{1,20}")
_TIME = re.compile(rb"[0-9][0-9TtZz:.,+ -]{0,40}")
_TYPE = re.compile(rb"[A-Za-z_][A-Za-z0-9_./:-]{0,63}")
_QUOTE, _OBJECT, _COMMA = b'"{,'
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}:,]', re.DOTALL)


class String(NamedTuple):
    """The inside of a string: where it starts and ends in the line, in bytes, and what it is."""

    start: int
    end: int
    kind: StringKind


def is_json(line: bytes) -> bool:
    """Return whether a line is JSON, bare or in the `data:` field of a server-sent event."""
    content = strip_sse_framing(line)
    try:
        from_json(content, allow_inf_nan=False, cache_mode="none")
    except ValueError:
        try:
            json.loads(content)
        except (ValueError, RecursionError):
            return False
    return True


def strings_of(line: bytes) -> Iterator[String]:
    """Yield the strings of a line that is JSON, in order."""
    outer: list[_Container] = []
    inner = _Container(is_object=False)
    for token in _TOKEN.finditer(line):
        start, end = token.span()
        mark = line[start]
        if mark == _QUOTE and inner.expects_key:
            inner.key = _text(line[start + 1 : end - 1])
            yield String(start + 1, end - 1, "key")
        elif mark == _QUOTE:
            yield String(start + 1, end - 1, inner.kind(line[start + 1 : end - 1]))
        elif mark in b"{[":
            outer.append(inner)
            is_object = mark == _OBJECT
            inner = inner.opened(is_object=is_object)
        elif mark in b"}]":
            inner = outer.pop() if outer else inner
        else:
            inner.expects_key = mark == _COMMA and inner.is_object


class _Container:
    """An open object or array: the key that its next value has, and how many objects are open."""

    __slots__ = ("expects_key", "is_field", "is_object", "key", "objects")

    def __init__(self, *, is_object: bool, key: str = "", objects: int = 0, is_field: bool = False) -> None:
        self.is_object, self.key, self.objects = is_object, key, objects
        self.is_field = is_field  # the value of a field of an object
        self.expects_key = is_object

    def opened(self, *, is_object: bool) -> _Container:
        """Return a container in it."""
        return _Container(
            is_object=is_object,
            key=self.key,
            objects=self.objects + is_object,
            is_field=self.is_object,
        )

    def kind(self, value: bytes) -> StringKind:
        """Return what a string in it is."""
        if self.key in _TRACE and _TRACE_VALUE.fullmatch(value):
            return "envelope"
        if self.objects != 1:
            return "value"
        if self.is_object:
            return envelope_kind(self.key, value)
        return "envelope" if self.is_field and self.key in ID_LISTS and is_id(_text(value)) else "value"


def envelope_kind(key: str, value: bytes) -> StringKind:
    """Return what the string of a field of the outermost object is."""
    if key in TYPES:
        return "type" if _TYPE.fullmatch(value) else "value"
    if key in TIMES:
        return "envelope" if _TIME.fullmatch(value) else "value"
    return "envelope" if key in IDS and is_id(_text(value)) else "value"


def _text(inside: bytes) -> str:
    if b"\\" not in inside:
        return inside.decode(errors="replace")
    try:
        return str(json.loads(b'"%s"' % inside))
    except ValueError:
        return ""

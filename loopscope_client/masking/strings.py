"""The strings of a line of JSON that may be masked: all but ids and times of the envelope.

As in `recorder/masking/json_strings.py`: ids and times of the outermost object stay, and those of
OpenTelemetry wherever they stand, if they look like ones. Names of types are masked only if a secret is
inside.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from typing import Literal, NamedTuple

from loopscope_client.masking.rules import ID_LISTS, IDS, TIMES, TRACE, TYPES

StringKind = Literal["value", "envelope", "type"]

_TRACE_VALUE = re.compile(rb"[0-9a-fA-F]{16,32}|-?[0-9]{1,20}")
_TIME = re.compile(rb"[0-9][0-9TtZz:.,+ -]{0,40}")
_TYPE = re.compile(rb"[A-Za-z_][A-Za-z0-9_./:-]{0,63}")
_ID_BYTES = 512
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}:,]', re.DOTALL)
_QUOTE, _OBJECT, _COMMA = b'"{,'


class String(NamedTuple):
    """The inside of a string: where it starts and ends in bytes, and whether it names a type."""

    start: int
    end: int
    is_type: bool


def is_json(line: bytes) -> bool:
    """Return whether a line is JSON."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def strings_of(line: bytes) -> Iterator[String]:
    """Yield the insides of strings that may be masked, in order."""
    outer: list[_Container] = []
    inner = _Container(is_object=False)
    for token in _TOKEN.finditer(line):
        start, end = token.span()
        mark = line[start]
        if mark == _QUOTE:
            inside, kind = line[start + 1 : end - 1], "value"
            if inner.expects_key:
                inner.key = _text(inside)
            else:
                kind = inner.kind(inside)
            if kind != "envelope":
                yield String(start + 1, end - 1, kind == "type")
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
        if self.key in TRACE and _TRACE_VALUE.fullmatch(value):
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


def is_id(value: str) -> bool:
    """Return whether a text is an id: 1 to 512 bytes without control, surrogate or bidi characters."""
    if any(c in _BIDI or unicodedata.category(c) in ("Cc", "Cs") for c in value):
        return False
    return 0 < len(value.encode()) <= _ID_BYTES


def _text(inside: bytes) -> str:
    try:
        return str(json.loads(b'"%s"' % inside))
    except ValueError:
        return ""

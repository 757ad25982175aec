"""The places of the texts of a delta in its line, and a line with other texts in their place."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from recorder.core.records import Json

Path = tuple[str | int, ...]
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}:,]', re.DOTALL)
_QUOTE, _OBJECT, _COMMA = b'"{,'
_MARKS = (b"MessageUpdate", b"agent_choice", b"partial_tool_call", b"ToolExecutionUpdate", b"ProgressMessage")
# Where the texts of deltas begin in their lines.
_PLACES: tuple[Path, ...] = (
    *(("delta",), ("message", "content"), ("content",), ("tool_call", "function")),
    *(("partial_result",), ("text",)),
)
_TEXT_FIELDS = re.compile(rb'"(?:delta|content|arguments|text|partial_result)"')
# Fields that are texts in a delta of unknown form; of phi-core it is `delta`.
TEXTS = frozenset(("delta", "text", "thinking", "arguments", "content", "partial_json", "input"))
_DEPTH = 6


class DeltaText(NamedTuple):
    """A text of a delta: where it stands, and the stream to which it belongs."""

    path: Path
    stream: str
    text: str


def delta_texts(delta: Json) -> list[DeltaText]:
    """Return the texts of a native delta, usually one; other fields beside it belong to the stream's name."""
    if isinstance(delta, dict) and len(delta) == 1:
        ((kind, inside),) = delta.items()
        if isinstance(inside, dict) and len(inside) == 1 and isinstance(text := inside.get("delta"), str):
            return [DeltaText(("delta", kind, "delta"), kind, text)]
    return [DeltaText(*each) for each in _unusual(delta, ("delta",), "")]


def strings_in(value: Json, path: Path) -> Iterator[tuple[Path, str]]:
    """Yield all strings of a value with their paths, without keys of objects."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, list | dict) and len(path) < 2 * _DEPTH:
        for key, inside in value.items() if isinstance(value, dict) else enumerate(value):
            yield from strings_in(inside, (*path, key))


def replaced(line: bytes, texts: Mapping[Path, str]) -> bytes:
    """Return a line of JSON with other texts at some paths; of duplicate keys only the last keeps a text."""
    places: dict[Path, tuple[int, int]] = {}
    edits: list[tuple[int, int, bytes]] = []
    for path, start, end in _values(line):
        if path in texts:
            if path in places:
                edits.append((*places[path], b""))
            places[path] = (start, end)
    edits += [(start, end, _encoded(texts[path], line[start:end])) for path, (start, end) in places.items()]
    return _edited(line, edits)


def blanked(line: bytes) -> bytes:
    """Return a line that is not recorded; of one that may be a delta, without the texts of the delta."""
    if not any(mark in line for mark in _MARKS):
        return line
    try:
        json.loads(line.removeprefix(b"data:"))
    except (ValueError, RecursionError):
        found = _TEXT_FIELDS.search(line)
        return line[: found.start()] if found else line
    texts = [
        (start, end) for path, start, end in _values(line) if any(path[: len(at)] == at for at in _PLACES)
    ]
    return _edited(line, [(start, end, b"") for start, end in texts])


def with_field(line: bytes, name: str, value: Json) -> bytes:
    """Return a line, which is an object of JSON that is not empty, with one more field."""
    at = line.index(b"{") + 1
    return b"%s%s:%s,%s" % (line[:at], json.dumps(name).encode(), json.dumps(value).encode(), line[at:])


def _unusual(value: Json, path: Path, name: str) -> Iterator[tuple[Path, str, str]]:
    if isinstance(value, str):
        yield path, name, value
    elif isinstance(value, dict) and len(path) < _DEPTH:
        more = [
            f"{key}={each}" for key, each in value.items() if isinstance(each, str | int) and key not in TEXTS
        ]
        for key, inside in value.items():
            if key in TEXTS or isinstance(inside, dict | list):
                yield from _unusual(inside, (*path, key), f"{name}/{key}/{'/'.join(more)}"[:200])
    elif isinstance(value, list) and len(path) < _DEPTH:
        for at, inside in enumerate(value):
            yield from _unusual(inside, (*path, at), f"{name}/{at}")


def _values(line: bytes) -> Iterator[tuple[Path, int, int]]:
    """Yield path, start and end of the inside of each string that is a value, in order."""
    outer: list[
        tuple[bool, str | int]
    ] = []  # of the open objects and arrays: whether an object, and its place
    is_object, place, expects_key = False, 0, False  # type: bool, str | int, bool
    for token in _TOKEN.finditer(line):
        start, end = token.span()
        mark = line[start]
        if mark == _QUOTE and expects_key:
            place = str(json.loads(token[0], strict=False))
        elif mark == _QUOTE:
            yield (*(each for _, each in outer[1:]), place), start + 1, end - 1
        elif mark in b"{[":
            outer.append((is_object, place))
            is_object = expects_key = mark == _OBJECT
            place = "" if is_object else 0
        elif mark in b"}]":
            is_object, place = outer.pop() if outer else (False, 0)
            expects_key = False
        else:
            expects_key = mark == _COMMA and is_object
            if mark == _COMMA and isinstance(place, int):
                place += 1


def _encoded(text: str, before: bytes) -> bytes:
    """Return the inside of a string of JSON, without escapes of letters if the one before had none."""
    try:
        return json.dumps(text, ensure_ascii=before.isascii()).encode()[1:-1]
    except UnicodeEncodeError:  # half of a surrogate pair
        return json.dumps(text).encode()[1:-1]


def _edited(line: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    parts: list[bytes] = []
    at = 0
    for start, end, new in sorted(edits):
        parts += (line[at:start], new)
        at = end
    return b"".join((*parts, line[at:]))

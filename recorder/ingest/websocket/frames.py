"""Parses the frames of the ingest socket: hello, lines, or flush."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from io import BytesIO
from typing import NoReturn

from recorder.ingest.auth import NUMBER_MAX, is_producer
from recorder.journal.batch import lines_of

LINES_MAX = 10_500  # of one frame, most of them blank
HEADER_CHARS = 4_096  # a longer first line is an event
BEGINNING = re.compile(r'\s*\{\s*"op"\s*:')  # of a line that is meant as a header


class BadFrame(Exception):
    """A frame whose header cannot be read."""


class UnknownOp(Exception):
    """A header with an unknown operation."""


@dataclass(frozen=True, slots=True)
class Hello:
    """The client states its protocol version and its producer; without a name the server assigns one."""

    version: object
    producer: str | None


@dataclass(frozen=True, slots=True)
class Lines:
    """Events, numbered from `first`; without it from the next free number."""

    first: int | None
    lines: list[bytes]
    size: int


@dataclass(frozen=True, slots=True)
class Flush:
    """The end of the producer's stream."""


Frame = Hello | Lines | Flush


class _Pairs(list[tuple[str, object]]):
    """The pairs of a JSON object as written, with duplicate keys."""


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


_STRICT = json.JSONDecoder(object_pairs_hook=_Pairs, parse_constant=_no_constant)


def read(text: str, *, is_bare: bool, most_lines: int = LINES_MAX) -> Frame:
    """Parse a frame. Raises BadFrame or UnknownOp.

    `is_bare`: this client sends events without headers, so a first line that is not a header is an event.
    """
    if text.count("\n") > most_lines:
        raise BadFrame(f"a frame has at most {most_lines} lines, with the blank ones")
    body = BytesIO(text.lstrip("\r\n").encode())
    header = _header(body.readline().rstrip(b"\n"), is_bare=is_bare)
    if header is None:
        body.seek(0)
        return Lines(None, lines_of(body), len(text))
    match header["op"]:
        case "hello":
            return _hello(header)
        case "events":
            return _lines(header, body, len(text))
        case "flush":
            return Flush()
        case str():
            raise UnknownOp
        case _:
            raise BadFrame("op must be text")


def _header(line: bytes, *, is_bare: bool) -> dict[str, object] | None:
    """Return the header in the first line, None if the line is an event."""
    written = _written(line.decode()) if b'"op"' in line else None
    header = dict(written or ())
    if "op" in header:
        if len(header) < len(written or ()):
            raise BadFrame("the header has a duplicate key")
        return header
    if not is_bare and not line.decode().lstrip().startswith("{"):
        raise BadFrame("the first line is neither a header nor an event")
    return None


def _written(line: str) -> _Pairs | None:
    """Return the object in a line; None if it has none: the parser of events then reports it."""
    if len(line) > HEADER_CHARS:
        return None
    try:
        written = _STRICT.decode(line)
    except (ValueError, RecursionError):
        if BEGINNING.match(line):
            raise BadFrame("the header cannot be read") from None
        return None
    return written if isinstance(written, _Pairs) else None


def _hello(header: dict[str, object]) -> Hello:
    producer = header.get("producer")
    if producer is None:
        return Hello(header.get("v"), None)
    if not isinstance(producer, str) or not is_producer(producer):
        raise BadFrame("a producer's name has 1 to 200 characters, none of them invisible")
    return Hello(header.get("v"), producer)


def _lines(header: dict[str, object], rest: BytesIO, size: int) -> Lines:
    first, number = header.get("first"), header.get("n")
    if type(first) is not int or not 0 <= first <= NUMBER_MAX:
        raise BadFrame("first is a whole number from 0 to 2^53-1")
    lines = lines_of(rest)
    if type(number) is not int or number != len(lines):
        raise BadFrame(f"n must be the number of lines that follow, which is {len(lines)}")
    return Lines(first, lines, size)

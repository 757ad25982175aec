"""The fields of a protobuf message by their places, found without building an object.

A parser builds an object of 40 to 200 bytes for each field, and a field may have two bytes: 16 MiB of empty
spans became 3 GiB. So what a body holds is counted here before any of it is parsed
(docs/adr/0044-count-before-parsing.md).

Cost: half a microsecond a field; the content of a field is skipped by its length.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

Field = tuple[int, int, int, int]  # number, where it begins, where its content begins, where it ends
Shape = Mapping[int, "Shape"]  # the fields of a message that hold messages

VARINT, FIXED64, CONTENT, FIXED32 = 0, 1, 2, 5
VARINT_BYTES = 10
FIELD_BYTES = 2  # of the shortest field

VALUE: dict[int, Shape] = {}  # AnyValue
PAIR: Shape = {2: VALUE}  # KeyValue
VALUE |= {5: {1: VALUE}, 6: {1: PAIR}}  # ArrayValue, KeyValueList
SPAN: Shape = {9: PAIR, 11: {3: PAIR}, 13: {4: PAIR}}  # attributes, events, links
LOG_RECORD: Shape = {5: VALUE, 6: PAIR}  # body, attributes
RESOURCE: Shape = {1: {1: PAIR}}  # of ResourceSpans without its spans
SCOPE: Shape = {1: {3: PAIR}}  # of ScopeSpans without its spans


class Malformed(Exception):
    """Bytes that are no protobuf message. Groups, which no OTLP message has, are none either."""


def fields(message: bytes, start: int, end: int) -> Iterator[Field]:
    """Yield the fields of the message from `start` to `end`; one without a length has the number 0.

    Raises Malformed.
    """
    at = start
    while at < end:
        begin = at
        tag, at = _varint(message, at, end)
        kind, number = tag & 7, tag >> 3
        content = at
        if kind == CONTENT:
            size, content = _varint(message, at, end)
            at = content + size
        elif kind == VARINT:
            _, at = _varint(message, at, end)
        elif kind in (FIXED64, FIXED32):
            at += 8 if kind == FIXED64 else 4
        else:
            raise Malformed
        if at > end or not number:
            raise Malformed
        yield number if kind == CONTENT else 0, begin, content, at


def has_more_fields(message: bytes, start: int, end: int, shape: Shape, limit: int) -> bool:
    """Return whether a message and those within it have more than `limit` fields. Raises Malformed.

    A message of at most twice as many bytes is not read.
    """
    if end - start <= FIELD_BYTES * limit:
        return False
    found, parts = 0, [(start, end, shape)]
    while parts:
        start, end, shape = parts.pop()
        for number, _, content, after in fields(message, start, end):
            found += 1
            if found > limit:
                return True
            if number in shape:
                parts.append((content, after, shape[number]))
    return False


def _varint(message: bytes, at: int, end: int) -> tuple[int, int]:
    """Return the number at a place, and the place after it."""
    if at < end and message[at] < 0x80:
        return message[at], at + 1
    found = 0
    for shift, byte in enumerate(message[at : min(end, at + VARINT_BYTES)]):
        found |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:
            return found, at + shift + 1
    raise Malformed

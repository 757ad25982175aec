"""Foreign lines: what a reader of another runtime's stream is, and what all of them share.

A reader turns each line into phi-core's events and ours, as native lines. What it must remember between lines
is its `state`, kept beside the producer's high water: a stream that is cut and goes on reads the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from recorder.core.events import SourceEvent
from recorder.core.events.base import construct
from recorder.core.events.fields import is_id, parse_timestamp
from recorder.core.formats import DEFAULT_LIMITS, ForeignLine, InvalidLineError, Limits
from recorder.core.formats.native import read_object
from recorder.core.records import ORIGIN_NATIVE, ORIGIN_SILENT, ORIGIN_TRANSLATED, Json, Origin

Fields = dict[str, Json]
COUNTS = ("input", "output", "reasoning", "cache_read", "cache_write", "total_tokens")  # phi-core's usage


@dataclass(slots=True)
class Translation:
    """What one foreign line says: native events, and where the line itself belongs."""

    name: str  # the line's own type
    events: list[Fields] = field(default_factory=list)
    session_id: str | None = None
    loop_id: str | None = None
    timestamp: datetime | None = None
    understood: bool = True

    @property
    def origin(self) -> Origin:
        """Origin of the line's event record. A line that is not understood counts as a native one."""
        if not self.understood:
            return ORIGIN_NATIVE
        return ORIGIN_TRANSLATED if self.events else ORIGIN_SILENT

    def original(self, source: str) -> SourceEvent:
        """Return the line as an event that changes nothing: what it means came in `events`."""
        return construct(
            SourceEvent,
            source=source,
            name=self.name,
            loop_id=self.loop_id,
            session_id=self.session_id,
            timestamp=self.timestamp,
            understood=self.understood,
        )


class Reader(Protocol):
    """Reads the lines of one producer in order."""

    @property
    def state(self) -> Json:
        """What has to be known to go on from here."""

    def read(self, line: Fields, at: datetime) -> Translation:
        """Read a line that was received at a time. Raises Refused, and then nothing of it counts."""

    def end_of_stream(self, at: datetime) -> list[Fields]:
        """Return what is still to be said when the producer is done."""


_FRAMING = re.compile(rb"(event|id|retry)?:")

# Gives the number of a session's next loop: 1, 2, ...
NextLoop = Callable[[str], int]


def parse(line: bytes, *, limits: Limits = DEFAULT_LIMITS) -> ForeignLine:
    """Read a line of any runtime: a JSON object, bare or as server-sent events frame it. Raises Refused."""
    if _FRAMING.match(line):
        return ForeignLine(None)
    return ForeignLine(read_object(strip_sse_framing(line), limits))


def parse_all(lines: Iterable[bytes], *, limits: Limits) -> list[ForeignLine | InvalidLineError]:
    """Read lines: of each, what `parse` returns or raises."""
    found: list[ForeignLine | InvalidLineError] = []
    for line in lines:
        try:
            found.append(parse(line, limits=limits))
        except InvalidLineError as refused:
            found.append(refused.without_traceback())
    return found


def strip_sse_framing(line: bytes) -> bytes:
    """Return the JSON of a line that may come as the data of a server-sent event."""
    return line.removeprefix(b"data:").lstrip() if line.startswith(b"data:") else line


def encode_event(event: Fields) -> bytes:
    """Return an event as the line that says it."""
    return json.dumps(event, separators=(",", ":")).encode()


def format_time(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def parse_time(value: Json) -> datetime | None:
    """Read a time; None for Go's zero time, and for what is none."""
    at = parse_timestamp(value) if isinstance(value, str) else None
    return None if at is None or at.year <= 1 else at


def text_field(fields: Fields, name: str) -> str:
    """Return a text field, "" if it is none."""
    found = fields.get(name)
    return found if isinstance(found, str) else ""


def count_field(fields: Fields, name: str) -> int:
    """Return a counter, 0 if it is none."""
    found = fields.get(name)
    return found if isinstance(found, int) and not isinstance(found, bool) and 0 <= found < 2**53 else 0


def object_field(fields: Fields, name: str) -> Fields:
    """Return an object within, empty if it is none."""
    found = fields.get(name)
    return found if isinstance(found, dict) else {}


def required_id(fields: Fields, name: str) -> str:
    """Return an id that the line cannot do without. Raises Refused."""
    found = fields.get(name)
    if is_id(found):
        return found
    if found is None or found == "":
        raise InvalidLineError("missing_field", name, "the field is missing")
    if isinstance(found, str):
        raise InvalidLineError(
            "bad_id", name, "an id has 1 to 512 bytes and no control, surrogate or bidi characters"
        )
    raise InvalidLineError("wrong_type", name, "an id is a string")


def parse_arguments(value: Json) -> Json:
    """Return the arguments of a tool call, which some runtimes write as text that holds JSON."""
    if not isinstance(value, str):
        return value
    try:
        parsed: Json = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return parsed

"""The reader interface of foreign formats, and parsing functions that all readers share.

A reader translates each line of another runtime into native events (phi-core's and ours). It works in order
and keeps its `state` between lines as JSON, stored with the producer's acknowledged line number. Invariant: a
reader that is rebuilt from its state between any two lines returns the same events as one that never stopped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from recorder.core.events import SourceEvent
from recorder.core.events.base import construct
from recorder.core.events.fields import is_id, parse_timestamp, without_infinities
from recorder.core.formats import DEFAULT_LIMITS, EVENT_VALUES, ForeignLine, InvalidLineError, Limits
from recorder.core.formats.native import read_object
from recorder.core.formats.structure import has_more_values
from recorder.core.records import ORIGIN_NATIVE, ORIGIN_SILENT, ORIGIN_TRANSLATED, Json, Origin

Fields = dict[str, Json]
COUNTS = ("input", "output", "reasoning", "cache_read", "cache_write", "total_tokens")  # phi-core's usage


@dataclass(slots=True)
class Translation:
    """The native events of one foreign line, and the session and loop that the line itself belongs to."""

    name: str  # the line's own type
    events: list[Fields] = field(default_factory=list)  # in the order in which they happened
    session_id: str | None = None
    loop_id: str | None = None
    timestamp: datetime | None = None  # None: the line has no time
    covers: str | None = None  # the id by which spans name the session, if another one; "": no time of it
    is_new_type: bool = False  # the first line of an unknown type without a content, kept as it is
    understood: bool = True  # False: of an unknown type, or malformed; stored, and counted as unknown

    @property
    def origin(self) -> Origin:
        """Origin of the line's event record. A line that is not understood counts as a native one."""
        if not self.understood:
            return ORIGIN_NATIVE
        return ORIGIN_TRANSLATED if self.events else ORIGIN_SILENT

    def original(self, source: str) -> SourceEvent:
        """Return the event of the line itself; it changes no record except counters, as `events` do that."""
        return construct(
            SourceEvent,
            source=source,
            name=self.name,
            loop_id=self.loop_id,
            session_id=self.session_id,
            timestamp=self.timestamp,
            understood=self.understood,
            is_new_type=self.is_new_type,
        )


class Reader(Protocol):
    """Translates the lines of one producer in order."""

    @property
    def state(self) -> Json:
        """What `read` needs to continue after the last line. Its stored names never change."""

    def read(self, line: Fields, at: datetime) -> Translation:
        """Translate a line that was received at `at`.

        Raises:
            InvalidLineError: the line is malformed; the state is then as before.
        """

    def end_of_stream(self, at: datetime) -> list[Fields]:
        """Return the events that end open turns when the producer flushes; `at` is when it did.

        Open loops get no end event: the recorder aborts them.
        """


_FRAMING = re.compile(rb"(event|id|retry)?:")

# Returns the number of a session's next loop: 1, 2, ...
NextLoop = Callable[[str], int]


def parse(line: bytes, *, limits: Limits = DEFAULT_LIMITS) -> ForeignLine:
    """Parse a line of another runtime: a JSON object, bare or in the `data:` field of a server-sent event.

    Other fields of server-sent events (event, id, retry, comments) return a line without fields.

    Raises:
        InvalidLineError: not a JSON object, or beyond `limits`.
    """
    if _FRAMING.match(line):
        return ForeignLine(None)
    return ForeignLine(read_object(strip_sse_framing(line), limits))


def parse_all(lines: Iterable[bytes], *, limits: Limits) -> list[ForeignLine | InvalidLineError]:
    """Return for each line what `parse` returns or raises, in order."""
    found: list[ForeignLine | InvalidLineError] = []
    for line in lines:
        try:
            found.append(parse(line, limits=limits))
        except InvalidLineError as error:
            found.append(error.without_traceback())
    return found


def strip_sse_framing(line: bytes) -> bytes:
    """Return the line without a leading `data:` of a server-sent event."""
    return line.removeprefix(b"data:").lstrip() if line.startswith(b"data:") else line


def encode_event(event: Fields) -> bytes:
    """Return an event as one line of compact JSON."""
    return json.dumps(event, separators=(",", ":")).encode()


def format_time(at: datetime) -> str:
    """Format an aware time as RFC 3339 in UTC, with a `Z`."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def parse_time(value: Json) -> datetime | None:
    """Parse an RFC 3339 time; None if it is not one, or is Go's zero time (year 1)."""
    at = parse_timestamp(value) if isinstance(value, str) else None
    return None if at is None or at.year <= 1 else at


def text_field(fields: Fields, name: str) -> str:
    """Return a field that is text, else ""."""
    found = fields.get(name)
    return found if isinstance(found, str) else ""


def count_field(fields: Fields, name: str) -> int:
    """Return a field that is a counter (an integer from 0 to 2**53 - 1), else 0."""
    found = fields.get(name)
    return found if isinstance(found, int) and not isinstance(found, bool) and 0 <= found < 2**53 else 0


def object_field(fields: Fields, name: str) -> Fields:
    """Return a field that is an object, else an empty one."""
    found = fields.get(name)
    return found if isinstance(found, dict) else {}


def required_id(fields: Fields, name: str) -> str:
    """Return a field that is an id.

    Raises:
        InvalidLineError: missing, not text, or not an id as `is_id` defines it.
    """
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
    """Return the arguments of a tool call, decoded if a runtime wrote them as JSON text.

    A text of more than EVENT_VALUES keys and values stays a text.
    """
    if not isinstance(value, str) or has_more_values(value.encode(errors="replace"), EVENT_VALUES):
        return value
    try:
        return without_infinities(json.loads(value))
    except (ValueError, RecursionError):
        return value


def rename_fields(fields: Fields, names: Mapping[str, str]) -> Fields:
    """Return `fields` with each key that `names` maps renamed; other keys stay.

    Readers store their state under the names of its first release. A table `_STORED_NAMES` maps the stored
    names to the attributes that have been renamed since.
    """
    return {names.get(name, name): value for name, value in fields.items()}


def inverted(names: Mapping[str, str]) -> Mapping[str, str]:
    """Return a table for the other direction: attribute to stored name."""
    return {value: name for name, value in names.items()}

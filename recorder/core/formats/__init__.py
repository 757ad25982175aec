"""Types that all formats share: parsed lines, limits and the error of an invalid line."""

from __future__ import annotations

from dataclasses import dataclass

from recorder.core.events import Event
from recorder.core.events.fields import ID_BYTES
from recorder.core.records import Json

EVENT_VALUES = 220_000  # keys and values of one line: 110,000 distinct keys are parsed in at most 50 ms


@dataclass(frozen=True, slots=True)
class ForeignLine:
    """A parsed line of another runtime, not translated yet. `fields` is None for framing without content."""

    fields: dict[str, Json] | None


ParsedLine = Event | ForeignLine


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one line: its bytes, its keys and values, the depth of nested JSON, the bytes of ids."""

    event_bytes: int = 4 * 1024 * 1024
    event_values: int = EVENT_VALUES
    depth: int = 128
    id_bytes: int = ID_BYTES


DEFAULT_LIMITS = Limits()


class InvalidLineError(Exception):
    """A line that can never be accepted: `code` is a reject code of the protocol, `path` names the field."""

    def __init__(self, code: str, path: str, message: str) -> None:
        super().__init__(f"{code} {path}: {message}")
        self.code = code
        self.path = path
        self.message = message

    def without_traceback(self) -> InvalidLineError:
        """Return the error without its traceback, whose frames hold the line and a reference cycle."""
        self.__context__ = None
        return self.with_traceback(None)

"""Foreign lines to events: what they share."""

from __future__ import annotations

from dataclasses import dataclass

from recorder.core.events import Event
from recorder.core.events.fields import ID_BYTES
from recorder.core.records import Json


@dataclass(frozen=True, slots=True)
class ForeignLine:
    """A line of another runtime, parsed and not yet understood. None: it only frames others."""

    fields: dict[str, Json] | None


ParsedLine = Event | ForeignLine


@dataclass(frozen=True, slots=True)
class Limits:
    """How large and how deep one line may be, and how long its ids."""

    event_bytes: int = 4 * 1024 * 1024
    depth: int = 128
    id_bytes: int = ID_BYTES


DEFAULT_LIMITS = Limits()


class InvalidLineError(Exception):
    """A line with a permanent fault: a reject code of the protocol, the field, and a sentence for people."""

    def __init__(self, code: str, path: str, message: str) -> None:
        super().__init__(f"{code} {path}: {message}")
        self.code = code
        self.path = path
        self.message = message

    def without_traceback(self) -> InvalidLineError:
        """Return it without where it was raised: that holds the line and, by way of callers, itself."""
        self.__context__ = None
        return self.with_traceback(None)

"""Bounds of one OTLP body, counted while it is read and before objects are built of it."""

from __future__ import annotations

from dataclasses import dataclass

from recorder.core.formats import EVENT_VALUES
from recorder.ingest.limits.decoding import Hold, uncounted

UNBOUND = 2**53


class Unreadable(Exception):
    """A body that is no export request."""


class TooLarge(Exception):
    """A body that holds more than one may."""


class LineTooLarge(Exception):
    """A span or log record that holds more than one may; its neighbours are stored."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of a body; the default is that of a file, of which only a line is limited.

    `values` are keys and values as docs/adr/0029 counts them. `hold` is called with the size of each large
    object that is about to be built, and may raise Busy.
    """

    lines: int = UNBOUND
    line_bytes: int = UNBOUND
    all_bytes: int = UNBOUND
    line_values: int = EVENT_VALUES
    values: int = UNBOUND
    hold: Hold = uncounted

    def check_lines(self, number: int) -> None:
        """Raise TooLarge if `number` lines are too many."""
        if number > self.lines:
            raise TooLarge(f"a body has at most {self.lines} spans or log records")


class Values:
    """Counts the keys and values of a body and of the line in work, from below."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._of_body = self._of_line = 0

    def begin_line(self) -> None:
        self._of_line = 0

    def take(self, number: int) -> None:
        """Count keys and values that are about to be built. Raises TooLarge or LineTooLarge."""
        self._of_line += number
        self._of_body += number
        if self._of_body > self._bounds.values:
            raise TooLarge(f"a body has at most {self._bounds.values} keys and values")
        if self._of_line > self._bounds.line_values:
            raise LineTooLarge

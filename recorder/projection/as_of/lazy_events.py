"""Events whose body is restored and parsed when the recorder first reads a field of it.

The head of a line (its type, loop id and time) is in the index of lines, as the recorder wrote it.
Everything else is in the body, which can be megabytes: a request repeats every message before it. So an
event is created from its head alone, with a descriptor in place of each other field.

Invariant: the value of any field is the one that `parse` finds in the journal's own line; the fields of a
type come from its model. Nothing here depends on which fields the recorder reads, so a handler that begins
to read another field needs no change here.

Cost: about 2 microseconds for a line whose body the recorder does not read. Bodies are restored in groups,
because a line consists of parts of earlier ones, which each query reads again: a `BodyReader` reads ahead
the lines of the types of which the recorder has read bodies. A wrong guess costs time only: a superfluous
body is dropped, and with a missing one the following bodies of its type are read.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from itertools import accumulate, compress
from operator import mul
from typing import Any, get_args

from recorder.core.events import Event, LoopEvent
from recorder.core.events.base import fields_of
from recorder.core.formats import InvalidLineError
from recorder.core.formats.native import NO_LIMITS, parse
from recorder.journal.read import texts

HEAD = ("type", "loop_id", "timestamp")
FIRST, MOST = 64, 16_384  # lines that are read ahead at first, and from then on
MOST_BYTES = 32 * 1024 * 1024  # of bodies that are restored at once; a single one may be larger

_BODY = "<body>"  # the key of the function that reads the line; no field can be called so


class Unreadable(Exception):
    """A line that was accepted once is rejected today: a rebuild would skip it."""


class BodyUse:
    """The types of the consumed lines, and those of which the recorder read a body."""

    def __init__(self) -> None:
        self._consumed: set[str] = set()
        self._read: set[str] = set()

    def note_consumed(self, types: Iterable[str]) -> None:
        self._consumed.update(types)

    def read(self, name: str) -> None:
        self._read.add(name)

    def is_likely(self, name: str) -> bool:
        """Return whether the body of a line is worth reading ahead: True for a type not consumed yet."""
        return name in self._read or name not in self._consumed


class BodyReader:
    """Reads the bodies of some lines, which are asked for in recorded order by their place among them.

    The lines are given by their journal ids, types and sizes in bytes.
    """

    def __init__(
        self, lines: Sequence[int], types: Sequence[str], sizes: Sequence[int], use: BodyUse
    ) -> None:
        self._lines, self._types, self._sizes, self._use = lines, types, sizes, use
        self._ahead: dict[int, bytes] = {}
        self._end, self._number = 0, FIRST  # where the next reading ahead begins, and of how many lines

    def event(self, place: int) -> Event:
        """Return the event of a line. Raises Unreadable."""
        try:
            return parse(self._text(place), limits=NO_LIMITS)
        except InvalidLineError:
            raise Unreadable from None

    def _text(self, place: int) -> bytes:
        name, line = self._types[place], self._lines[place]
        if place >= self._end:
            likely = {each for each in set(self._types) if self._use.is_likely(each)} | {name}
            self._end, self._ahead = place + self._number, {}
            self._end = self._read_ahead(place, likely)
            self._use.note_consumed(self._types[place : self._end])
            self._number = MOST
        elif line not in self._ahead:
            self._read_ahead(place, {name})
        self._use.read(name)
        return self._ahead.pop(line)

    def _read_ahead(self, first: int, types: Collection[str]) -> int:
        """Read bodies of some types, as far as they are not too large together; return where that ends."""
        wanted = [name in types for name in self._types[first : self._end]]
        bytes_so_far = accumulate(map(mul, wanted, self._sizes[first:]))
        number = max(1, bisect_right(list(bytes_so_far), MOST_BYTES))
        self._ahead |= texts(list(compress(self._lines[first : first + number], wanted)))
        return min(first + number, self._end)


def lazy_event(
    model: type[Event], loop_id: str, at: datetime | None, read: Callable[[int], Event], place: int
) -> Event:
    """Return an event of a loop with its head; the first other field that is read calls `read(place)`."""
    event = object.__new__(_LAZY[model])
    event.__dict__.update({"type": model.type, "loop_id": loop_id, "timestamp": at, _BODY: (read, place)})
    return event


class _BodyField:
    """Non-data descriptor of a field not read yet; the first read stores the value in the instance."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, event: Any, owner: type) -> Any:
        if event is None:
            return self
        held = event.__dict__
        read, place = held.pop(_BODY)
        held.update(read(place).__dict__)
        return held[self._name]


def _lazy(model: type[Event]) -> type[Event]:
    """Return the class of a model's events without their bodies."""
    fields = {name: _BodyField(name) for name in fields_of(model) if name not in HEAD}
    return type(f"Lazy{model.__name__}", (model,), fields)


_LAZY: dict[type[Event], type[Event]] = {model: _lazy(model) for model in get_args(LoopEvent)}

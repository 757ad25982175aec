"""Versions of every record of some sessions: the state at any event is a look-up and a short replay.

The sessions' lines are fed to the recorder once, in chunks of at most CHUNK. After each chunk every record
that it changed is copied: its version. For the state at an event, records are created from the versions at
the last chunk that ends before it, a `State` from these records, and a second recorder is fed the lines up
to the event.

Invariant: nothing here depends on what an event means. A version is a copy of all fields of a record as the
recorder left it, and a recorder whose State is built from the records between any two lines continues as one
that was fed all of them (tests/recorder/core). So the result is what the recorder derived from the journal's
own lines. This needs records whose values the recorder replaces and never changes in place.

Cost: 15 to 20 microseconds for each line that is fed, half of them for restoring and parsing bodies (see
`lazy_events`). Each further event copies the records at its chunk, at 4 microseconds each, and feeds at most
CHUNK lines. A record takes one version for each chunk that changed it.

Versions belong to the lines that were fed. If a line is added before their end (a sub-agent is linked, an
orphan is adopted) or prices change, all versions are derived again.
"""

from __future__ import annotations

import gc
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby, islice
from threading import Lock
from typing import TypeAlias

from recorder.core.changes import (
    CallBilled,
    CallReopened,
    Change,
    CostReported,
    CostStated,
    LabelsChanged,
    LoopCleared,
    Removed,
    SegmentChanged,
    SessionMoved,
)
from recorder.core.money.prices import Price, PriceKey
from recorder.core.recorder import JournalLine, Recorder
from recorder.core.records import EventRecord, Loop, Record
from recorder.core.state import State
from recorder.database.row_mapper import table
from recorder.database.sql import Value
from recorder.journal.replay import EndOfStream
from recorder.pricing import price_book
from recorder.projection.as_of.lazy_events import Unreadable
from recorder.projection.as_of.lines import Entry, SessionLines

CHUNK = 64  # lines between two versions: more slow down each event, fewer the first one
KEPT = 100_000  # lines whose versions a process keeps: about 450 bytes each

NO_RECORDS = (
    *(CallBilled, CallReopened, CostReported, CostStated, LabelsChanged, LoopCleared, SegmentChanged),
    SessionMoved,
)

_Prices: TypeAlias = Mapping[PriceKey, Sequence[Price]]


@dataclass(slots=True)
class _Versions:
    """The versions of one record by the end of their chunk; None when it was removed."""

    since: list[int] = field(default_factory=list)
    values: list[tuple[Value, ...] | None] = field(default_factory=list)

    def at(self, chunk: int) -> tuple[Value, ...] | None:
        place = bisect_right(self.since, chunk)
        return self.values[place - 1] if place else None


class RecordVersions:
    """The versions of all records of some sessions. Threads may share it."""

    def __init__(self, sessions: Sequence[int], prices: _Prices) -> None:
        self.sessions, self.prices = sessions, prices
        self._lock = Lock()
        self._lines = SessionLines(sessions)
        self._begin()

    def _begin(self) -> None:
        self._recorder = Recorder(State(prices=self.prices))
        self._versions: dict[Record, _Versions] = {}
        self._ends: list[int] = []  # of chunks: the journal id of the last line of each
        self._number = 0  # of lines that were fed

    @property
    def size(self) -> int:
        """Return the number of lines that were fed."""
        return self._number

    def is_current(self, sessions: Sequence[int], prices: _Prices) -> bool:
        """Return whether these are still the lines and the prices of these sessions."""
        if self.sessions != sessions or self.prices != prices:
            return False
        with self._lock:
            return not self._ends or self._number == self._lines.count(self._ends[-1])

    def at(self, event: int, links: Sequence[int] = ()) -> list[Record]:
        """Return the records at an event, as copies for the caller; a few queries.

        `links` are lines after the event that apply all the same: they link the session to the loop that
        started it.
        """
        try:
            return self._at(event, links)
        except Unreadable:
            self._lines.tolerates_unreadable = True
            with self._lock:
                self._begin()
            return self._at(event, links)

    def _at(self, event: int, links: Sequence[int]) -> list[Record]:
        with self._lock:
            self._feed_until(event)
            chunk = bisect_right(self._ends, event)
            records = self._copies(chunk)
        begin = self._ends[chunk - 1] if chunk else 0
        rest = self._lines.between(begin, event) if chunk < len(self._ends) else ()
        entries = [*rest, *(self._lines.these(links) if links else ())]
        return _after(entries, records, self.prices) if entries else records

    def _feed_until(self, event: int) -> None:
        """Feed the lines up to an event that were not fed; the last chunk may be a small one."""
        last = self._ends[-1] if self._ends else 0
        entries = self._lines.between(last, event) if last < event else iter(())
        try:
            with _collector_paused():
                while chunk := list(islice(entries, CHUNK)):
                    self._ends.append(chunk[-1].id)
                    self._number += sum(isinstance(entry, JournalLine) for entry in chunk)
                    self._keep(_feed(self._recorder, chunk))
        except BaseException:
            self._begin()  # a chunk that was fed in part cannot be continued
            raise

    def _keep(self, changes: Iterable[Change]) -> None:
        """Copy the records that a chunk changed. Of lines only orphans are kept: a loop may adopt them."""
        chunk = len(self._ends)
        for change in changes:
            if isinstance(change, LoopCleared):
                self._clear(change.loop, chunk)
            if isinstance(change, NO_RECORDS):
                continue
            record = change.record if isinstance(change, Removed) else change
            versions = self._versions.get(record)
            if versions is None:
                if isinstance(record, EventRecord) and not record.loop_key:
                    continue
                versions = self._versions[record] = _Versions()
            versions.since.append(chunk)
            versions.values.append(None if record is not change else table(type(record)).values(record))

    def _clear(self, loop: Loop, chunk: int) -> None:
        """Note that the records of a withdrawn loop were removed."""
        for record, versions in self._versions.items():
            if getattr(record, "loop", None) is loop and not isinstance(record, EventRecord):
                versions.since.append(chunk)
                versions.values.append(None)

    def _copies(self, chunk: int) -> list[Record]:
        """Return copies of the records at the end of a chunk, in the order of their creation."""
        found = [
            (record, values, object.__new__(type(record)))
            for record, versions in self._versions.items()
            if (values := versions.at(chunk)) is not None
        ]
        copies: dict[Record | None, Record | None] = {record: copy for record, _, copy in found}
        copies[None] = None
        for _, values, copy in found:
            kind = table(type(copy))
            for name, value in zip(kind.fields, values, strict=True):
                setattr(copy, name, value)
            for name in kind.links:
                setattr(copy, name, copies[getattr(copy, name)])
        return [copy for _, _, copy in found]


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Pause the cyclic garbage collector: 10,000 lines cause a full collection, as long as a page takes.

    It visits every object of the process, and lines are freed without it. Threads may pause at the same
    time: the first one resumes it.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _after(entries: Iterable[Entry], records: Iterable[Record], prices: _Prices) -> list[Record]:
    """Return records after some lines; the given records are changed."""
    state = State(prices=prices)
    for record in records:
        state.add(record)
    found = dict[Record, None].fromkeys(records)
    for change in _feed(Recorder(state), entries):
        if isinstance(change, Removed):
            found.pop(change.record, None)
        elif isinstance(change, LoopCleared):
            for record in [each for each in found if getattr(each, "loop", None) is change.loop]:
                found.pop(record)
        elif not isinstance(change, NO_RECORDS):
            found[change] = None
    return list(found)


def _feed(recorder: Recorder, entries: Iterable[Entry]) -> Iterator[Change]:
    for kind, some in groupby(entries, key=type):
        if kind is JournalLine:
            yield from recorder.feed(*some)  # type: ignore[arg-type]  # no type check sees that all are lines
            continue
        for flush in some:
            assert isinstance(flush, EndOfStream)
            yield from recorder.end_of_stream(flush.producer, flush.received_at, flush.id)


_versions: OrderedDict[int, RecordVersions] = OrderedDict()  # by session, the last used last
_lock = Lock()


def record_versions(project: int, session: int, sessions: Sequence[int]) -> RecordVersions:
    """Return the versions of the records of some sessions, kept for the one that was asked for."""
    prices = price_book.all_prices(project)
    with _lock:
        found = _versions.pop(session, None)
    if found is None or not found.is_current(sessions, prices):
        found = RecordVersions(sessions, prices)
    with _lock:
        _versions[session] = found
        while len(_versions) > 1 and sum(each.size for each in _versions.values()) > KEPT:
            _versions.popitem(last=False)
    return found


def forget() -> None:
    """Drop all versions."""
    with _lock:
        _versions.clear()

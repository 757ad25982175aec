"""All that the records of some sessions ever were: fed once, then any event is a look-up.

A history belongs to the lines it was fed. When others come before its end (a sub-agent is linked, an orphan
is adopted) or prices change, it is another one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from threading import Lock
from typing import NamedTuple, TypeAlias

from recorder import pricebook
from recorder.core.changes import (
    Change,
    EventRecord,
    Loop,
    Record,
    Regrouped,
    Removed,
    Session,
    Spent,
    TextBlock,
)
from recorder.core.memory import Memory
from recorder.core.prices import Pair, Price
from recorder.core.recorder import Line, Recorder
from recorder.models import EventRecord as EventRow
from recorder.past.told import Passed, told
from recorder.tables import Value, table

KEPT = 40_000  # events whose histories a process keeps: about 1.5 kB each

Values: TypeAlias = tuple[Value, ...]
_Prices: TypeAlias = Mapping[Pair, Sequence[Price]]
_NOT_KEPT = (Spent, Regrouped, EventRecord, TextBlock)


class _Counted(NamedTuple):
    """What a record was before lines that were only counted, and what these made of two of its fields."""

    before: Values
    places: tuple[int, int]
    values: tuple[Value, Value]

    def whole(self) -> Values:
        values = list(self.before)
        for place, value in zip(self.places, self.values, strict=True):
            values[place] = value
        return tuple(values)


@dataclass(slots=True)
class _States:
    """What one record was, since which event; None when it was gone."""

    since: list[int] = field(default_factory=list)
    values: list[Values | _Counted | None] = field(default_factory=list)

    def at(self, event: int) -> Values | None:
        place = bisect_right(self.since, event)
        found = self.values[place - 1] if place else None
        return found.whole() if type(found) is _Counted else found

    def count(self, event: int, places: tuple[int, int], values: tuple[Value, Value]) -> None:
        last = self.values[-1]
        if last is not None:
            before = last.before if type(last) is _Counted else last
            self.since.append(event)
            self.values.append(_Counted(before, places, values))


class History:
    """The history of some sessions. Whoever uses it holds its lock."""

    def __init__(self, sessions: Sequence[int], prices: _Prices) -> None:
        self.sessions, self.prices = sessions, prices
        self.lock = Lock()
        self.lines = 0
        self._end = 0  # the last event that was fed
        self._memory = Memory(prices=prices)
        self._recorder = Recorder(self._memory)
        self._states: dict[Record, _States] = {}

    def at(self, event: int) -> dict[Record, Values]:
        """Return the records that there were, each with the values of its fields."""
        if event > self._end:
            self._feed(event)
        found = ((record, states.at(event)) for record, states in self._states.items())
        return {record: values for record, values in found if values is not None}

    def holds(self, sessions: Sequence[int], prices: _Prices) -> bool:
        """Say whether it is still the history of these sessions."""
        if self.sessions != sessions or self.prices != prices:
            return False
        with self.lock:
            fed = EventRow.objects.filter(session__in=sessions, journal__lte=self._end)
            return self.lines == fed.count()

    def _feed(self, until: int) -> None:
        for each in told(self.sessions, self._end, until, self._memory.named):
            if isinstance(each, Line):
                self.lines += 1
                if type(each) is Passed and self._pass(each):
                    continue
                self._keep(each.id, self._recorder.feed(each))
            else:
                self._keep(each[2], self._recorder.flush(*each))
        self._end = until

    def _pass(self, line: Line) -> bool:
        """Keep that a line was counted, if that is all that came of it."""
        loop = self._recorder.count(line)
        if loop is None:
            return False
        session, (of_loop, of_session) = loop.session, _counted()
        self._states[loop].count(line.id, of_loop, (loop.events, loop.sequence))
        self._states[session].count(line.id, of_session, (session.events, session.last_event_at))
        return True

    def _keep(self, event: int, changes: Collection[Change]) -> None:
        for change in changes:
            record = change.record if isinstance(change, Removed) else change
            if isinstance(record, _NOT_KEPT):
                continue
            states = self._states.get(record)
            if states is None:
                states = self._states[record] = _States()
            states.since.append(event)
            states.values.append(table(type(record)).values(record) if record is change else None)


@cache
def _counted() -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the places of what counting a line changes in a loop, and in a session."""
    loop, session = table(Loop).fields.index, table(Session).fields.index
    return (loop("events"), loop("sequence")), (session("events"), session("last_event_at"))


_histories: OrderedDict[int, History] = OrderedDict()  # by the session that was asked for; the last used last
_lock = Lock()


def history(project: int, session: int, sessions: Sequence[int]) -> History:
    """Return the history of a session with those below it."""
    prices = pricebook.known(project)
    with _lock:
        found = _histories.pop(session, None)
    if found is None or not found.holds(sessions, prices):
        found = History(sessions, prices)
    with _lock:
        _histories[session] = found
        while len(_histories) > 1 and sum(each.lines for each in _histories.values()) > KEPT:
            _histories.popitem(last=False)
    return found


def forget() -> None:
    """Keep no history: every one is made anew."""
    with _lock:
        _histories.clear()

"""All that the records of some sessions ever were: fed once, then any event is a look-up.

A history belongs to the lines it was fed. When others come before its end (a sub-agent is linked, an orphan
is adopted) or prices change, it is another one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from threading import Lock
from typing import Any, TypeAlias, get_args

from recorder.core.money.prices import Price, PriceKey
from recorder.core.recorder import Line, Recorder
from recorder.core.records import Change, EventRecord, Loop, Record, Removed, Session, TextBlock
from recorder.core.state import State
from recorder.database.row_mapper import table
from recorder.database.sql import Value
from recorder.models import EventRecord as EventRow
from recorder.models import JournalEvent
from recorder.pricing import price_book
from recorder.projection.as_of.known import Known, Span
from recorder.projection.as_of.lines import told
from recorder.projection.as_of.passed import Count, Passed, passing

KEPT = 40_000  # events whose histories a process keeps: about 1 kB each

Values: TypeAlias = tuple[Value, ...]
_Prices: TypeAlias = Mapping[PriceKey, Sequence[Price]]


def _values_of(kind: type[Record]) -> Callable[[Record], Values]:
    """Return the function that reads all fields of a record; made as text it takes half as long."""
    names = ", ".join(f"record.{each.name}" for each in fields(kind))
    made: Callable[[Record], Values] = eval(f"lambda record: ({names},)")  # noqa: S307  of names alone
    return made


_KEPT = {kind: _values_of(kind) for kind in get_args(Record) if kind not in (EventRecord, TextBlock)}


@dataclass(slots=True)
class _States:
    """What one record was, since which event; None when it was gone."""

    since: list[int] = field(default_factory=list)
    values: list[Values | None] = field(default_factory=list)

    def at(self, event: int) -> Values | None:
        place = bisect_right(self.since, event)
        return self.values[place - 1] if place else None

    def last(self, event: int) -> int:
        """Return the last event that changed it."""
        return self.since[bisect_right(self.since, event) - 1]


class History:
    """The history of some sessions. Whoever uses it holds its lock."""

    def __init__(self, sessions: Sequence[int], prices: _Prices) -> None:
        self.sessions, self.prices = sessions, prices
        self.lock = Lock()
        self._told = 0  # lines
        self._passed = Passed()
        self._end = 0  # the last event that was fed
        self._memory = State(prices=prices)
        self._recorder = Recorder(self._memory)
        self._states: dict[Record, _States] = {}

    def at(self, event: int) -> dict[Record, Values]:
        """Return the records that there were, each with the values of its fields."""
        if event > self._end:
            self._feed(event)
        found = ((record, states.at(event)) for record, states in self._states.items())
        then = {record: values for record, values in found if values is not None}
        self._count(then, event)
        return then

    @property
    def lines(self) -> int:
        """Return how many there were."""
        return self._told + self._passed.lines

    def holds(self, sessions: Sequence[int], prices: _Prices) -> bool:
        """Say whether it is still the history of these sessions."""
        if self.sessions != sessions or self.prices != prices:
            return False
        with self.lock:
            fed = EventRow.objects.filter(session__in=sessions, journal__lte=self._end)
            return self.lines == fed.count()

    def _feed(self, until: int) -> None:
        span = Span(self.sessions, self._end, until)
        known = Known(span)
        messages = passing(span, known.loops, self._passed)
        for each in told(span, known, messages, self._memory.find_loop):
            if isinstance(each, Line):
                self._told += 1
                self._keep(each.id, self._recorder.feed(each))
            else:
                self._keep(each[2], self._recorder.end_of_stream(*each))
        self._end = until

    def _count(self, then: dict[Record, Values], event: int) -> None:
        """Count the messages that passed, up to an event. At most one query."""
        of_session: dict[Session, Count] = {}
        for loop in [each for each in then if isinstance(each, Loop)]:
            passed = self._passed.count(loop.start_event, event)
            if passed.last:
                then[loop] = _more(loop, then[loop], events=passed.events, sequence=passed.sequence)
                of_session[loop.session] = passed | of_session.get(loop.session, Count())
        at = _received([each.last for each in of_session.values()])
        for session, passed in of_session.items():
            values = _more(session, then[session], events=passed.events)
            if passed.last > self._states[session].last(event):
                values = changed(session, values, "last_event_at", at[passed.last])
            then[session] = values

    def _keep(self, event: int, changes: Collection[Change]) -> None:
        for change in changes:
            record: Any = change.record if isinstance(change, Removed) else change
            values = _KEPT.get(type(record))
            if values is None:
                continue
            states = self._states.get(record)
            if states is None:
                states = self._states[record] = _States()
            states.since.append(event)
            states.values.append(None if isinstance(change, Removed) else values(record))


def changed(record: Record, values: Values, name: str, value: Value) -> Values:
    """Return the values of a record's fields with another one."""
    place = table(type(record)).fields.index(name)
    return (*values[:place], value, *values[place + 1 :])


def _more(record: Record, values: Values, **counts: int) -> Values:
    found = list(values)
    for name, count in counts.items():
        found[table(type(record)).fields.index(name)] += count
    return tuple(found)


def _received(lines: Collection[int]) -> dict[int, datetime]:
    found = JournalEvent.objects.filter(pk__in=lines) if lines else JournalEvent.objects.none()
    return dict(found.values_list("pk", "received_at"))


_histories: OrderedDict[int, History] = OrderedDict()  # by the session that was asked for; the last used last
_lock = Lock()


def history(project: int, session: int, sessions: Sequence[int]) -> History:
    """Return the history of a session with those below it."""
    prices = price_book.all_prices(project)
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

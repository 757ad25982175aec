"""The state of a session: waiting, stale, running or how it ended. Staleness is decided here alone.

A session is unfinished while a loop of it runs or is pending, or an approval is open. An unfinished one is
stale when its last event, `last_event_at`, is longer ago than a limit: LOOPSCOPE_STALE_S, or
LOOPSCOPE_STALE_WAITING_S while an approval is open. Nothing of this is stored: it follows from the record and
the clock, so that a session is live again with its next event.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, Protocol

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from dashboard.shared.compiled_query import aware
from recorder.models import UNFINISHED, LoopRecord, ParallelGroupRecord

OPEN = ("pending", "running")
SHOWN = ("status", "outcome", "waiting", "ended_at", "last_event_at")  # the columns that the functions read
_NEVER = datetime.min.replace(tzinfo=UTC)
_moment: ContextVar[datetime | None] = ContextVar("moment", default=None)


class HasState(Protocol):
    """The columns of a session from which its state follows."""

    @property
    def status(self) -> str: ...
    @property
    def outcome(self) -> str: ...
    @property
    def waiting(self) -> int: ...
    @property
    def ended_at(self) -> datetime | None: ...
    @property
    def last_event_at(self) -> datetime: ...


class State(NamedTuple):
    """The columns `SHOWN` of a session."""

    status: str
    outcome: str
    waiting: int
    ended_at: datetime | None
    last_event_at: datetime

    @classmethod
    def of(cls, values: Sequence[Any]) -> State:
        """Return the state of the columns as plain SQL returned them."""
        status, outcome, waiting, ended_at, last_event_at = values
        return cls(status, outcome, waiting, aware(ended_at), aware(last_event_at) or last_event_at)


@dataclass(frozen=True, slots=True)
class Cutoffs:
    """The times of the last event before which an unfinished session is stale."""

    running: datetime
    waiting: datetime  # while an approval is open

    @classmethod
    def at(cls, now: datetime) -> Cutoffs:
        """Return the cutoffs of the settings at `now`."""
        return cls(_before(now, settings.LOOPSCOPE_STALE_S), _before(now, settings.LOOPSCOPE_STALE_WAITING_S))

    @property
    def bounds(self) -> tuple[datetime, datetime, datetime]:
        """Return the arguments of `live_since`."""
        return self.running, self.waiting, min(self.running, self.waiting)


def is_stale(session: HasState, now: datetime | None = None) -> bool:
    """Return whether the session is stale, at `now` or at the moment that is shown."""
    if session.status not in OPEN and not session.waiting:
        return False
    cutoffs = Cutoffs.at(now or shown_moment())
    return session.last_event_at < (cutoffs.waiting if session.waiting else cutoffs.running)


def state_of_session(session: HasState) -> str:
    """Return the state of a session: stale, waiting, an open status, or the outcome, in this order."""
    state = status_of_session(session)
    return "waiting" if session.waiting and state != "stale" else state


def status_of_session(session: HasState) -> str:
    """Return the state of a session without regard to its open approvals, which are shown beside it."""
    if is_stale(session):
        return "stale"
    return session.status if session.status in OPEN else session.outcome or session.status


def end_of_session(session: HasState) -> datetime | None:
    """Return when its duration ends: at the last event if it is stale, None while it is live."""
    if session.status in OPEN:
        return session.last_event_at if is_stale(session) else None
    return session.ended_at or session.last_event_at


def is_stale_loop(loop: LoopRecord) -> bool:
    """Return whether a loop is stale: it is unfinished and its session is stale.

    Its own events do not count: while a sub-agent works, its caller is silent.
    """
    return (loop.status in OPEN or loop.waiting > 0) and is_stale(loop.session)


def end_of_loop(loop: LoopRecord) -> datetime | None:
    """Return the time at which a loop's duration ends: its last event if it is stale, else its end."""
    if loop.status not in OPEN or not is_stale_loop(loop):
        return loop.ended_at
    last_event_at = loop.session.last_event_at
    return min(loop.last_event_at or last_event_at, last_event_at)


def status_of_group(group: ParallelGroupRecord) -> str:
    """Return the status of a parallel group; one that runs is stale if its session is."""
    return "stale" if group.status == "running" and is_stale(group.session) else group.status


def stale(now: datetime) -> Q:
    """Return the condition that a session is stale at `now`."""
    cutoffs = Cutoffs.at(now)
    # The first bound limits the index scan, which the alternatives do not.
    bound = Q(last_event_at__lt=max(cutoffs.running, cutoffs.waiting))
    running = Q(waiting=0, last_event_at__lt=cutoffs.running)
    return Q(UNFINISHED) & bound & (running | Q(waiting__gt=0, last_event_at__lt=cutoffs.waiting))


def live(now: datetime) -> Q:
    """Return the condition that a session is unfinished and not stale at `now`."""
    return live_since(*Cutoffs.at(now).bounds)


def live_since(running: datetime, waiting: datetime, earliest: datetime) -> Q:
    """Return the condition of `live` from `Cutoffs.bounds`; the earliest limits the index scan."""
    is_active = Q(waiting=0, last_event_at__gte=running) | Q(waiting__gt=0, last_event_at__gte=waiting)
    return Q(UNFINISHED) & Q(last_event_at__gte=earliest) & is_active


def shown_moment() -> datetime:
    """Return the moment that is shown: now, or the time of the event as of which a page is rendered."""
    return _moment.get() or timezone.now()


@contextmanager
def at_moment(moment: datetime) -> Iterator[None]:
    """Decide staleness as of a moment of the past."""
    token = _moment.set(moment)
    try:
        yield
    finally:
        _moment.reset(token)


def _before(now: datetime, seconds: int) -> datetime:
    return now - timedelta(seconds=seconds) if seconds else _NEVER

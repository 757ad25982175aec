"""The input of a handler: one line, the state that it is applied to, and the changes so far."""

from __future__ import annotations

from collections import deque
from copy import copy
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, NamedTuple

from recorder.core.changes import CallBilled, CallReopened, Change, LabelsChanged, Removed
from recorder.core.content.text import clean
from recorder.core.events import Event
from recorder.core.records import Anomaly, Loop, Origin, Record, Session, Turn
from recorder.core.state import State


@dataclass(slots=True, eq=False)  # not a tuple: a slot is read faster, and every line has one
class JournalLine:
    """One parsed line of the journal. `id` is its journal id; `received_at` is aware UTC."""

    id: int
    producer: int
    received_at: datetime
    source: str
    event: Event
    is_demo: bool = False
    origin: Origin = ""


# How a line relates to its loop or session: part of it; received after the loop had ended; of an unknown
# loop; or about a loop without being one of its events, as the start and end of a group are.
Relation = Literal["within", "late", "orphan", "about"]


class Placement(NamedTuple):
    """The session, loop and turn that a line belongs to. Without a session, its session is unknown."""

    session: Session | None = None
    loop: Loop | None = None
    turn: Turn | None = None
    relation: Relation = "within"


NO_PLACEMENT = Placement()


@dataclass(slots=True)
class StartedLoops:
    """The loops of a session that have started, in order of their start. Loops withdrawn since are in it."""

    loops: deque[Loop]
    titled: deque[Loop]
    roots: deque[Loop]


@dataclass(slots=True)
class Withdrawals:
    """The loops that consecutive events withdraw: what takes a pass over a session is done once for all."""

    loops: set[Loop] = field(default_factory=set)
    awaited: set[tuple[Session, str]] = field(default_factory=set)  # sessions and ids of parents
    started: dict[Session, StartedLoops] = field(default_factory=dict)  # of sessions that lost a loop


@dataclass(slots=True)
class EventContext:
    """The event that handlers process: the state that it is applied to, and the changes so far.

    `id` is the journal id of its line, `received_at` the time at which the endpoint received it. `changes`
    keeps each changed record once, in the order of the first change; the store writes records as they are
    at the end.
    """

    state: State
    id: int
    producer: int
    received_at: datetime
    source: str
    is_demo: bool
    origin: Origin = ""
    changes: dict[Change, Change] = field(default_factory=dict)
    withdrawals: Withdrawals | None = None  # of the events just before

    def touch(self, record: Record) -> None:
        """Mark a record as changed."""
        self.changes[record] = record

    def add(self, record: Record) -> None:
        """Index a new record and mark it as changed."""
        self.state.add(record)
        self.changes[record] = record

    def remove(self, record: Record) -> None:
        """Mark a record as removed; the caller removes it from the state."""
        self.changes[record] = Removed(record)

    def add_billed_call(self, record: Turn | Loop) -> None:
        """Report that a turn or loop ended, so that its cost enters the rollups."""
        billed = CallBilled(record)
        self.changes[billed] = billed

    def reopen_billed_call(self, record: Turn | Loop) -> None:
        """Report that a turn or loop goes on, before its figures change: its cost leaves the rollups."""
        reopened = CallReopened(record, copy(record))
        self.changes[reopened] = reopened

    def change_labels(self, session: Session) -> None:
        """Note that tags or metadata of a session changed."""
        self.touch(session)
        changed = LabelsChanged(session)
        self.changes[changed] = changed

    def anomaly(self, kind: str, text: str, session: Session | None, loop: Loop | None = None) -> None:
        """Report an inconsistency, for the session's integrity strip; `text` is cut to 500 characters."""
        self.touch(
            Anomaly(
                session=session,
                loop=loop,
                kind=kind,
                text=clean(text, 500),
                at=self.received_at,
                event=self.id,
            )
        )

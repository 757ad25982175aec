"""One line on its way into the records: what is known, when it came, what it changed."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, NamedTuple

from recorder.core.content.text import clean
from recorder.core.events import Event
from recorder.core.records import Anomaly, CallBilled, Change, Loop, Origin, Record, Removed, Session, Turn
from recorder.core.state import State


@dataclass(slots=True, eq=False)  # no tuple: one is made of every line, and read twice
class Line:
    """One journaled line, read: `id` is the journal's."""

    id: int
    producer: int
    received_at: datetime
    source: str
    event: Event
    is_demo: bool = False
    origin: Origin = ""


# Of a line: within its loop or session, after its loop had ended, of a loop that is not known, or about a
# loop but not of it, as a group's start and end are.
Relation = Literal["within", "late", "orphan", "beside"]


class Placement(NamedTuple):
    """Where a line belongs. Without a session it belongs to nothing that is known."""

    session: Session | None = None
    loop: Loop | None = None
    turn: Turn | None = None
    relation: Relation = "within"


NO_PLACEMENT = Placement()


@dataclass(slots=True)
class EventContext:
    """`id` is the journal's; `received_at` is when the line was received."""

    state: State
    id: int
    producer: int
    received_at: datetime
    source: str
    is_demo: bool
    origin: Origin = ""
    changes: dict[Change, Change] = field(default_factory=dict)

    def touch(self, record: Record) -> None:
        """The record changed."""
        self.changes[record] = record

    def add(self, record: Record) -> None:
        """A new record."""
        self.state.add(record)
        self.changes[record] = record

    def remove(self, record: Record) -> None:
        """The record goes; the caller takes it out of the memory."""
        self.changes[record] = Removed(record)

    def add_billed_call(self, record: Turn | Loop) -> None:
        """A turn or a loop ended: what it cost counts."""
        add_billed_call = CallBilled(record)
        self.changes[add_billed_call] = add_billed_call

    def anomaly(self, kind: str, text: str, session: Session | None, loop: Loop | None = None) -> None:
        """Something did not fit: people shall see it."""
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

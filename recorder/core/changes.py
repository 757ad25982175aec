"""The changes that the recorder returns: a record as it now is, its removal, or what sums depend on."""

from __future__ import annotations

from dataclasses import dataclass

from recorder.core.records import Loop, Record, Segment, Session, Turn


@dataclass(frozen=True, slots=True)
class Removed:
    """The record is deleted."""

    record: Record


@dataclass(slots=True, eq=False)
class CallBilled:
    """A turn or loop ended and was billed, once: its cost enters the rollups of its project."""

    record: Turn | Loop


@dataclass(slots=True, eq=False)
class CallReopened:
    """A billed turn or loop goes on: its cost leaves the rollups until it ends again."""

    record: Turn | Loop
    billed: Turn | Loop  # a copy, as it was billed


@dataclass(frozen=True, slots=True)
class SegmentChanged:
    """The cost of a loop counts in another ledger segment than before."""

    loop: Loop
    previous: Segment


@dataclass(frozen=True, slots=True)
class LabelsChanged:
    """The tags or the metadata of a session changed: its rows in the index of labels are written anew."""

    session: Session


@dataclass(frozen=True, slots=True, eq=False)
class LoopCleared:
    """All records of a loop that exist so far are deleted, and its recorded spending is subtracted."""

    loop: Loop


@dataclass(frozen=True, slots=True)
class SessionMoved:
    """The lines of a removed session belong to another one."""

    session: Session
    into: Session


@dataclass(frozen=True, slots=True, eq=False)
class CostReported:
    """The cost of an ended turn is the reported one; None: it is computed again. `turn`: if it is loaded."""

    loop: Loop
    turn_index: int
    nano: int | None
    turn: Turn | None


@dataclass(frozen=True, slots=True, eq=False)
class CostStated:
    """A changed cost of a session by the statements of its agent; the rest is computed again."""

    session: Session


Change = (
    Record
    | Removed
    | CallBilled
    | CallReopened
    | SegmentChanged
    | LabelsChanged
    | LoopCleared
    | SessionMoved
    | CostReported
    | CostStated
)

"""Lines in, changes out: phi-core's recorder rules, without a database, a clock or an exception.

Recording order decides everything; times are only written down.
"""

from __future__ import annotations

from datetime import datetime
from typing import assert_never

from recorder.core import asides, compactions, groups, loops, sessions, spending, streaming, tools, turns
from recorder.core.changes import Change, EventRecord, Loop
from recorder.core.events import (
    Aside,
    Event,
    LoopEvent,
    SourceEvent,
)
from recorder.core.links import session_of
from recorder.core.memory import Memory
from recorder.core.needs import needs
from recorder.core.step import NOWHERE, Line, Place, Step
from recorder.core.text import clean

__all__ = ["Line", "Recorder", "needs"]


class Recorder:
    """Feeds lines to what a Memory holds. It keeps no state of its own."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    def feed(self, *lines: Line) -> list[Change]:
        """Return what lines change, each record once; what does not fit yields an Anomaly."""
        if not lines:
            return []
        step = Step(self.memory, *lines[0][:4], is_demo=False)
        for line in lines:  # one step goes along: to make one a line takes longer than most lines do
            step.id, step.producer, step.at, step.source, event, step.is_demo, step.origin = line
            _file(step, event, _place(step, event))
        spending.regroup(step.changes)
        return list(step.changes.values())

    def count(self, line: Line) -> Loop | None:
        """Count a message of which no more is told than that it came, in its loop; None if it must be fed."""
        event = line.event
        loop = self.memory.named(line.producer, event.__dict__["loop_id"])
        if loop is None or loop.status != "running":
            return None
        counted = line.origin != "read"
        loop.events += counted
        loop.sequence += event.type != "MessageUpdate"
        loop.session.events += counted
        loop.session.last_event_at = line.received_at
        return loop

    def flush(self, producer: int, at: datetime, event: int) -> list[Change]:
        """Abort the loops and groups that a producer leaves open: it is done."""
        step = Step(self.memory, event, producer, at, "", is_demo=False)
        running = self.memory.open.get(producer, ())
        for loop in sorted(running, key=lambda loop: loop.start_event or 0):
            loops.abort(step, loop)
        groups.leave(step, producer)
        spending.regroup(step.changes)
        return list(step.changes.values())


def _place(step: Step, event: Event) -> Place:  # noqa: PLR0911  one arm a family of events
    """Let an event change what it is about, and say where it belongs."""
    match event.type:  # not of its class: to ask pydantic for that costs more than the rest
        case (
            "MessageUpdate"
            | "MessageStart"
            | "MessageEnd"
            | "ToolExecutionStart"
            | "ToolExecutionEnd"
            | "TurnStart"
            | "TurnEnd"
        ):  # most are these
            return _in_loop(step, event)
        case "AgentStart":
            return loops.start(step, event)
        case "ParallelLoopStart":
            return groups.start(step, event)
        case "ParallelLoopEnd":
            return groups.end(step, event)
        case "SubAgentLinked":
            return asides.link(step, event)
        case "SourceEvent":
            return _unknown(step, event)
        case "Unread":
            step.anomaly("our_bug", "A line broke our own code. It is kept; a rebuild reads it again.", None)
            return NOWHERE
        case (
            "AgentSwitched"
            | "ApprovalRequested"
            | "ApprovalResolved"
            | "ErrorRaised"
            | "Notice"
            | "SessionInfo"
            | "UsageSnapshot"
        ):
            return _aside(step, event)
        case "ProgressMessage" | "InputRejected" if not event.loop_id:
            return NOWHERE
        case _:
            return _in_loop(step, event)


def _in_loop(step: Step, event: LoopEvent) -> Place:
    loop = _find(step, event.loop_id)
    if loop is None:
        return _orphan(step, event.loop_id)
    if loop.status != "running":
        if event.type == "CompactionEnded" and event.block is not None:
            return compactions.end(
                step, event, loop
            )  # from a session file, imported after the loop came live
        return _late(step, loop)
    return _run(step, event, loop)


def _find(step: Step, loop_id: str | None) -> Loop | None:
    return None if loop_id is None else step.memory.named(step.producer, loop_id)


def _run(step: Step, event: LoopEvent, loop: Loop) -> Place:  # noqa: C901, PLR0911, PLR0912  one arm an event
    match event.type:
        case "MessageUpdate":
            return streaming.update(step, event, loop)
        case "MessageStart":
            return streaming.start(step, event, loop)
        case "MessageEnd":
            return streaming.end(step, event, loop)
        case "ToolExecutionStart":
            return tools.start(step, event, loop)
        case "ToolExecutionUpdate":
            return tools.update(step, event, loop)
        case "ToolExecutionEnd":
            return tools.end(step, event, loop)
        case "TurnStart":
            return turns.start(step, event, loop)
        case "TurnRequest":
            return turns.request(step, event, loop)
        case "TurnEnd":
            return turns.end(step, event, loop)
        case "ProgressMessage":
            return tools.progress(step, event, loop)
        case "InputRejected":
            return asides.reject_input(step, event, loop)
        case "CompactionStarted":
            return compactions.start(step, event, loop)
        case "CompactionEnded":
            return compactions.end(step, event, loop)
        case "PrunApplied" | "RevertApplied":
            return turns.here(step, loop)
        case "AgentEnd":
            return loops.end(step, event, loop)
        case _:
            assert_never(event)


def _orphan(step: Step, loop_id: str) -> Place:
    """Keep an event of a loop that is not known, with the session that the loop's id begins with, if any."""
    session = step.memory.sessions.get(session_of(loop_id))
    if loop_id not in step.memory.orphans:
        step.anomaly("orphan", f"Events came of a loop that never started: {loop_id}", session)
    return Place(session, is_orphan=True)


def _late(step: Step, loop: Loop) -> Place:
    if not loop.late:
        step.anomaly("late", "Events came after the loop had ended.", loop.session, loop)
    loop.late += 1
    return Place(loop.session, loop, late=True)


def _unknown(step: Step, event: SourceEvent) -> Place:
    if event.understood:
        return _told(step, event)
    place = _where(step, event.loop_id, event.session_id)
    loop = place.loop
    if loop is None or not loop.unknown:
        step.anomaly(
            "unknown_type", f"An event of a type that is not known: {event.name}", place.session, loop
        )
    if loop is not None:
        loop.unknown += 1
    return place


def _told(step: Step, event: SourceEvent) -> Place:
    """A foreign line stands where its loop is; what it says was read from it."""
    loop = _find(step, event.loop_id)
    if loop is not None:
        return turns.here(step, loop) if loop.status == "running" else Place(loop.session, loop)
    session = step.memory.sessions.get(event.session_id or "")
    return Place(session, is_orphan=session is None)


def _where(step: Step, loop_id: str | None, session_id: str | None) -> Place:
    loop = _find(step, loop_id)
    if loop is not None:
        return turns.here(step, loop) if loop.status == "running" else Place(loop.session, loop, late=True)
    session = step.memory.sessions.get(session_id or "")
    if session is None and loop_id is not None:
        return _orphan(step, loop_id)
    return Place(session)


def _aside(step: Step, event: Aside) -> Place:
    if event.session_id is not None:
        sessions.find_or_make(step, event.session_id, event.timestamp or step.at)
    place = _where(step, event.loop_id, event.session_id)
    if place.session is not None:
        asides.take(step, event, place.session, place.loop)
        step.touch(place.session)
    return place


def _file(step: Step, event: Event, place: Place) -> None:
    """Write down where the line belongs, and count it there."""
    fields = event.__dict__  # many events have no time and no loop, and pydantic is slow to say so
    session, loop, turn, late, is_orphan, beside = place
    at = fields.get("timestamp")
    step.add(
        EventRecord(
            id=step.id,
            session=session,
            loop=loop,
            turn=turn,
            loop_key=(fields.get("loop_id") or "") if is_orphan else "",
            type=clean(event.name, 100) if event.type == "SourceEvent" else event.type,
            sequence=_sequence(step, event, place),
            occurred_at=at,
            late=late,
            origin=step.origin,
        )
    )
    counted = step.origin != "read"
    if loop is not None and not beside:
        loop.events += counted
        if at is not None and not late:
            loop.last_event_at = at
        step.touch(loop)
    if session is not None:
        session.events += counted
        session.last_event_at = step.at
        step.touch(session)


def _sequence(step: Step, event: Event, place: Place) -> int | None:
    if place.loop is None or place.beside or event.type == "MessageUpdate":
        return None
    if step.origin in ("told", "kept"):
        return None
    place.loop.sequence += 1
    return place.loop.sequence - 1

"""Lines in, changes out: phi-core's recorder rules, without a database, a clock or an exception.

Recording order decides everything; times are only written down.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Never

from recorder.core.content.text import clean
from recorder.core.context import NOWHERE, Line, Place, Standing, Step
from recorder.core.events import (
    Aside,
    Event,
    LoopEvent,
    SourceEvent,
)
from recorder.core.handlers import annotations as handlers_annotations
from recorder.core.handlers import (
    compactions,
    loops,
    parallel_groups,
    sessions,
    streaming_text,
    tool_calls,
    turns,
)
from recorder.core.handlers.lineage import session_of
from recorder.core.money import billing
from recorder.core.records import Change, EventRecord, Loop, Turn
from recorder.core.state import Memory
from recorder.core.state_keys import needs

__all__ = ["Line", "Recorder", "needs"]


class Recorder:
    """Feeds lines to what a Memory holds. It keeps no state of its own."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    def feed(self, *lines: Line) -> list[Change]:
        """Return what lines change, each record once; what does not fit yields an Anomaly."""
        if not lines:
            return []
        first = lines[0]
        step = Step(self.memory, first.id, first.producer, first.received_at, first.source, first.is_demo)
        for line in lines:  # one step goes along: to make one a line takes longer than most lines do
            step.id, step.producer, step.at = line.id, line.producer, line.received_at
            step.source, step.is_demo, step.origin = line.source, line.is_demo, line.origin
            _take(step, line.event)
        billing.regroup(step.changes)
        return list(step.changes.values())

    def flush(self, producer: int, at: datetime, event: int) -> list[Change]:
        """Abort the loops and groups that a producer leaves open: it is done."""
        step = Step(self.memory, event, producer, at, "", is_demo=False)
        running = self.memory.open.get(producer, ())
        for loop in sorted(running, key=lambda loop: loop.start_event or 0):
            loops.abort(step, loop)
        parallel_groups.leave(step, producer)
        billing.regroup(step.changes)
        return list(step.changes.values())


# What an event says of a loop that runs; each returns the turn to which it belongs.
_OF_RUNNING: dict[str, Callable[[Step, Never, Loop], Turn | None]] = {
    "TurnStart": turns.start,
    "TurnRequest": turns.request,
    "TurnEnd": turns.end,
    "MessageStart": streaming_text.start,
    "MessageUpdate": streaming_text.update,
    "MessageEnd": streaming_text.end,
    "ToolExecutionStart": tool_calls.start,
    "ToolExecutionUpdate": tool_calls.update,
    "ToolExecutionEnd": tool_calls.end,
    "ProgressMessage": tool_calls.progress,
    "InputRejected": handlers_annotations.reject_input,
    "CompactionStarted": compactions.start,
    "CompactionEnded": compactions.end,
    "PrunApplied": turns.say_nothing,
    "RevertApplied": turns.say_nothing,
    "AgentEnd": loops.end,
}


def _take(step: Step, event: Event) -> None:
    """Let an event change what it is about, and write down where it belongs."""
    fields = event.__dict__  # some events have no loop, many no time
    say = _OF_RUNNING.get(fields["type"])
    loop = None if say is None else step.memory.named(step.producer, fields["loop_id"])
    if say is not None and loop is not None and loop.status == "running":  # most events by far
        turn = say(step, event, loop)  # type: ignore[arg-type]  # each takes the events of its own type
        _count(step, fields, loop, turn)
        return
    place = _place(step, event)
    if place.loop is None or place.standing == "beside":
        _file(step, fields, place)
    else:
        _count(step, fields, place.loop, place.turn, place.standing)


def _place(step: Step, event: Event) -> Place:  # noqa: PLR0911  one arm a family of events
    """Let an event change what it is about, if that is no running loop, and say where it belongs."""
    match event.type:
        case "AgentStart":
            return loops.start(step, event)
        case "ParallelLoopStart":
            return parallel_groups.start(step, event)
        case "ParallelLoopEnd":
            return parallel_groups.end(step, event)
        case "SubAgentLinked":
            return handlers_annotations.link(step, event)
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
        case _:
            return _in_no_running_loop(step, event)


def _in_no_running_loop(step: Step, event: LoopEvent) -> Place:
    loop = _find(step, event.loop_id)
    if loop is not None and event.type == "CompactionEnded" and event.block is not None:
        # From a session file, imported after the loop came live.
        return Place(loop.session, loop, compactions.end(step, event, loop))
    if loop is not None:
        return _late(step, loop)
    return _orphan(step, event.loop_id) if event.loop_id else NOWHERE


def _find(step: Step, loop_id: str | None) -> Loop | None:
    return None if loop_id is None else step.memory.named(step.producer, loop_id)


def _orphan(step: Step, loop_id: str) -> Place:
    """Keep an event of a loop that is not known, with the session that the loop's id begins with, if any."""
    session = step.memory.sessions.get(session_of(loop_id))
    if loop_id not in step.memory.orphans:
        step.anomaly("orphan", f"Events came of a loop that never started: {loop_id}", session)
    return Place(session, standing="orphan")


def _late(step: Step, loop: Loop) -> Place:
    if not loop.late:
        step.anomaly("late", "Events came after the loop had ended.", loop.session, loop)
    loop.late += 1
    return Place(loop.session, loop, standing="late")


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
    return Place(session, standing="orphan" if session is None else "within")


def _where(step: Step, loop_id: str | None, session_id: str | None) -> Place:
    loop = _find(step, loop_id)
    if loop is not None:
        return (
            turns.here(step, loop) if loop.status == "running" else Place(loop.session, loop, standing="late")
        )
    session = step.memory.sessions.get(session_id or "")
    if session is None and loop_id is not None:
        return _orphan(step, loop_id)
    return Place(session)


def _aside(step: Step, event: Aside) -> Place:
    if event.session_id is not None:
        sessions.find_or_make(step, event.session_id, event.timestamp or step.at)
    place = _where(step, event.loop_id, event.session_id)
    if place.session is not None:
        handlers_annotations.take(step, event, place.session, place.loop)
        step.touch(place.session)
    return place


def _count(
    step: Step, fields: dict[str, Any], loop: Loop, turn: Turn | None, standing: Standing = "within"
) -> None:
    """Write down a line of a loop, and count it there."""
    kind, at, origin, session = fields["type"], fields.get("timestamp"), step.origin, loop.session
    is_late = standing == "late"
    sequence = None
    if kind != "MessageUpdate" and (not origin or origin == "read"):
        sequence = loop.sequence
        loop.sequence += 1
    if origin != "read":
        loop.events += 1
        session.events += 1
    if at is not None and not is_late:
        loop.last_event_at = at
    session.last_event_at = step.at
    name = clean(fields["name"], 100) if kind == "SourceEvent" else kind
    record = EventRecord(step.id, session, loop, turn, name, sequence, at, is_late, origin)
    changes = step.changes
    changes[loop] = loop
    changes[session] = session
    changes[record] = record


def _file(step: Step, fields: dict[str, Any], place: Place) -> None:
    """Write down a line that is of no loop, or about one without being of it."""
    session, loop, turn, standing = place
    kind, at, origin = fields["type"], fields.get("timestamp"), step.origin
    if session is not None:
        session.events += origin != "read"
        session.last_event_at = step.at
        step.touch(session)
    name = clean(fields["name"], 100) if kind == "SourceEvent" else kind
    record = EventRecord(step.id, session, loop, turn, name, None, at, origin=origin)
    if standing == "orphan":
        record.loop_key = fields.get("loop_id") or ""
        step.memory.add(record)
    step.touch(record)

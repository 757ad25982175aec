"""Lines in, changes out: phi-core's recorder rules, without a database, a clock or an exception.

Recording order decides everything; times are only written down.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Never

from recorder.core.content.text import clean
from recorder.core.context import NO_PLACEMENT, EventContext, Line, Placement, Relation
from recorder.core.events import (
    Annotation,
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
from recorder.core.handlers.lineage import session_id_of
from recorder.core.money import billing
from recorder.core.records import Change, EventRecord, Loop, Turn
from recorder.core.state import State
from recorder.core.state_keys import state_keys_of

__all__ = ["Line", "Recorder", "state_keys_of"]


class Recorder:
    """Feeds lines to what a Memory holds. It keeps no state of its own."""

    def __init__(self, state: State) -> None:
        self.state = state

    def feed(self, *lines: Line) -> list[Change]:
        """Return what lines change, each record once; what does not fit yields an Anomaly."""
        if not lines:
            return []
        first = lines[0]
        context = EventContext(
            self.state, first.id, first.producer, first.received_at, first.source, first.is_demo
        )
        for line in lines:  # one step goes along: to make one a line takes longer than most lines do
            context.id, context.producer, context.received_at = line.id, line.producer, line.received_at
            context.source, context.is_demo, context.origin = line.source, line.is_demo, line.origin
            _apply(context, line.event)
        billing.update_segments(context.changes)
        return list(context.changes.values())

    def end_of_stream(self, producer: int, at: datetime, event: int) -> list[Change]:
        """Abort the loops and groups that a producer leaves open: it is done."""
        context = EventContext(self.state, event, producer, at, "", is_demo=False)
        running = self.state.running_loops.get(producer, ())
        for loop in sorted(running, key=lambda loop: loop.start_event or 0):
            loops.abort(context, loop)
        parallel_groups.abort_of_producer(context, producer)
        billing.update_segments(context.changes)
        return list(context.changes.values())


# What an event says of a loop that runs; each returns the turn to which it belongs.
_RUNNING_LOOP_HANDLERS: dict[str, Callable[[EventContext, Never, Loop], Turn | None]] = {
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
    "PrunApplied": turns.no_change,
    "RevertApplied": turns.no_change,
    "AgentEnd": loops.end,
}


def _apply(context: EventContext, event: Event) -> None:
    """Let an event change what it is about, and write down where it belongs."""
    fields = event.__dict__  # some events have no loop, many no time
    say = _RUNNING_LOOP_HANDLERS.get(fields["type"])
    loop = None if say is None else context.state.find_loop(context.producer, fields["loop_id"])
    if say is not None and loop is not None and loop.status == "running":  # most events by far
        turn = say(context, event, loop)  # type: ignore[arg-type]  # each takes the events of its own type
        _record_in_loop(context, fields, loop, turn)
        return
    place = _dispatch(context, event)
    if place.loop is None or place.relation == "beside":
        _record_outside_loop(context, fields, place)
    else:
        _record_in_loop(context, fields, place.loop, place.turn, place.relation)


def _dispatch(context: EventContext, event: Event) -> Placement:  # noqa: PLR0911  one arm a family of events
    """Let an event change what it is about, if that is no running loop, and say where it belongs."""
    match event.type:
        case "AgentStart":
            return loops.start(context, event)
        case "ParallelLoopStart":
            return parallel_groups.start(context, event)
        case "ParallelLoopEnd":
            return parallel_groups.end(context, event)
        case "SubAgentLinked":
            return handlers_annotations.link(context, event)
        case "SourceEvent":
            return _source_event(context, event)
        case "Unread":
            context.anomaly(
                "our_bug", "A line broke our own code. It is kept; a rebuild reads it again.", None
            )
            return NO_PLACEMENT
        case (
            "AgentSwitched"
            | "ApprovalRequested"
            | "ApprovalResolved"
            | "ErrorRaised"
            | "Notice"
            | "SessionInfo"
            | "UsageSnapshot"
        ):
            return _annotation(context, event)
        case _:
            return _without_running_loop(context, event)


def _without_running_loop(context: EventContext, event: LoopEvent) -> Placement:
    loop = _find_loop(context, event.loop_id)
    if loop is not None and event.type == "CompactionEnded" and event.block is not None:
        # From a session file, imported after the loop came live.
        return Placement(loop.session, loop, compactions.end(context, event, loop))
    if loop is not None:
        return _place_late(context, loop)
    return _place_orphan(context, event.loop_id) if event.loop_id else NO_PLACEMENT


def _find_loop(context: EventContext, loop_id: str | None) -> Loop | None:
    return None if loop_id is None else context.state.find_loop(context.producer, loop_id)


def _place_orphan(context: EventContext, loop_id: str) -> Placement:
    """Keep an event of a loop that is not known, with the session that the loop's id begins with, if any."""
    session = context.state.sessions.get(session_id_of(loop_id))
    if loop_id not in context.state.orphans:
        context.anomaly("orphan", f"Events came of a loop that never started: {loop_id}", session)
    return Placement(session, relation="orphan")


def _place_late(context: EventContext, loop: Loop) -> Placement:
    if not loop.late:
        context.anomaly("late", "Events came after the loop had ended.", loop.session, loop)
    loop.late += 1
    return Placement(loop.session, loop, relation="late")


def _source_event(context: EventContext, event: SourceEvent) -> Placement:
    if event.understood:
        return _place_translated(context, event)
    place = _place_annotation(context, event.loop_id, event.session_id)
    loop = place.loop
    if loop is None or not loop.unknown:
        context.anomaly(
            "unknown_type", f"An event of a type that is not known: {event.name}", place.session, loop
        )
    if loop is not None:
        loop.unknown += 1
    return place


def _place_translated(context: EventContext, event: SourceEvent) -> Placement:
    """A foreign line stands where its loop is; what it says was read from it."""
    loop = _find_loop(context, event.loop_id)
    if loop is not None:
        return turns.placement(context, loop) if loop.status == "running" else Placement(loop.session, loop)
    session = context.state.sessions.get(event.session_id or "")
    return Placement(session, relation="orphan" if session is None else "within")


def _place_annotation(context: EventContext, loop_id: str | None, session_id: str | None) -> Placement:
    loop = _find_loop(context, loop_id)
    if loop is not None:
        return (
            turns.placement(context, loop)
            if loop.status == "running"
            else Placement(loop.session, loop, relation="late")
        )
    session = context.state.sessions.get(session_id or "")
    if session is None and loop_id is not None:
        return _place_orphan(context, loop_id)
    return Placement(session)


def _annotation(context: EventContext, event: Annotation) -> Placement:
    if event.session_id is not None:
        sessions.get_or_create(context, event.session_id, event.timestamp or context.received_at)
    place = _place_annotation(context, event.loop_id, event.session_id)
    if place.session is not None:
        handlers_annotations.apply(context, event, place.session, place.loop)
        context.touch(place.session)
    return place


def _record_in_loop(
    context: EventContext,
    fields: dict[str, Any],
    loop: Loop,
    turn: Turn | None,
    relation: Relation = "within",
) -> None:
    """Write down a line of a loop, and count it there."""
    kind, at, origin, session = fields["type"], fields.get("timestamp"), context.origin, loop.session
    is_late = relation == "late"
    sequence = None
    if kind != "MessageUpdate" and (not origin or origin == "read"):
        sequence = loop.sequence
        loop.sequence += 1
    if origin != "read":
        loop.events += 1
        session.events += 1
    if at is not None and not is_late:
        loop.last_event_at = at
    session.last_event_at = context.received_at
    name = clean(fields["name"], 100) if kind == "SourceEvent" else kind
    record = EventRecord(context.id, session, loop, turn, name, sequence, at, is_late, origin)
    changes = context.changes
    changes[loop] = loop
    changes[session] = session
    changes[record] = record


def _record_outside_loop(context: EventContext, fields: dict[str, Any], place: Placement) -> None:
    """Write down a line that is of no loop, or about one without being of it."""
    session, loop, turn, relation = place
    kind, at, origin = fields["type"], fields.get("timestamp"), context.origin
    if session is not None:
        session.events += origin != "read"
        session.last_event_at = context.received_at
        context.touch(session)
    name = clean(fields["name"], 100) if kind == "SourceEvent" else kind
    record = EventRecord(context.id, session, loop, turn, name, None, at, origin=origin)
    if relation == "orphan":
        record.loop_key = fields.get("loop_id") or ""
        context.state.add(record)
    context.touch(record)

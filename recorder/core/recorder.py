"""The recorder: lines in, changed records out. Pure: no database, no clock, no exception on any input.

`feed` applies each line to `State` in recording order (journal ids ascend): the handler of its event type
changes records, and an `EventRecord` says where the line belongs. Recording order alone decides; the times
on lines are stored and never compared to order anything. A line that contradicts the state becomes an
`Anomaly` and is stored as well.

Invariant: feeding lines one by one, in any portions, or to a new recorder whose `State` was loaded from the
store in between, yields the same records (tests/recorder/core/test_restart.py).

Cost: most lines belong to a running loop and take one dict look-up for the handler and one comparison for the
loop (`State.find_loop`); no handler scans more than the open parts of its own loop, session or group.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Never, assert_never

from recorder.core import withdrawal
from recorder.core.changes import Change
from recorder.core.content.text import clean
from recorder.core.context import NO_PLACEMENT, EventContext, JournalLine, Placement, Relation
from recorder.core.costs import billing, stated_costs
from recorder.core.events import (
    Annotation,
    Correction,
    Event,
    LoopEvent,
    SourceEvent,
)
from recorder.core.handlers import annotations as annotation_handlers
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
from recorder.core.records import ORIGIN_DERIVED, ORIGIN_NATIVE, EventRecord, Loop, Turn
from recorder.core.state import State
from recorder.core.state_keys import state_keys_of

__all__ = ["JournalLine", "Recorder", "state_keys_of"]


class Recorder:
    """Applies lines to a `State`. It has no state of its own."""

    def __init__(self, state: State) -> None:
        self.state = state

    def feed(self, *lines: JournalLine) -> list[Change]:
        """Apply lines in order; return the records that they change, each once.

        The records are those of `state`, as they are after the last line. Lines must come in recording order.
        """
        if not lines:
            return []
        first = lines[0]
        context = EventContext(
            self.state, first.id, first.producer, first.received_at, first.source, first.is_demo
        )
        for line in lines:  # one context for all: creating it takes longer than handling most lines
            context.id, context.producer, context.received_at = line.id, line.producer, line.received_at
            context.source, context.is_demo, context.origin = line.source, line.is_demo, line.origin
            if context.withdrawals is not None and line.event.type != "LoopWithdrawn":
                withdrawal.settle(context)
            _apply(context, line.event)
        withdrawal.settle(context)
        billing.update_segments(context.changes)
        sessions.update_ends(self.state, context.changes)
        return list(context.changes.values())

    def end_of_stream(self, producer: int, at: datetime, event: int) -> list[Change]:
        """Abort the loops and groups that a producer left open; `event` is the journal id of its end mark.

        They ended at their last event, not at `at`, which is the time at which the end mark was received.
        """
        context = EventContext(self.state, event, producer, at, "", is_demo=False)
        running = self.state.running_loops.get(producer, ())
        for loop in sorted(running, key=lambda loop: loop.start_event or 0):
            loops.abort(context, loop)
        parallel_groups.abort_of_producer(context, producer)
        billing.update_segments(context.changes)
        sessions.update_ends(self.state, context.changes)
        return list(context.changes.values())


_NUMBERED = (ORIGIN_NATIVE, ORIGIN_DERIVED)  # lines that have a sequence number in their loop
# The handlers of events of a running loop. Each returns the turn that the event belongs to.
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
    "InputRejected": annotation_handlers.reject_input,
    "CompactionStarted": compactions.start,
    "CompactionEnded": compactions.end,
    "PrunApplied": turns.no_change,
    "RevertApplied": turns.no_change,
    "AgentEnd": loops.end,
}


def _apply(context: EventContext, event: Event) -> None:
    """Run the handler of an event and record where its line belongs."""
    fields = event.__dict__  # some events have no loop_id, many no timestamp
    handler = _RUNNING_LOOP_HANDLERS.get(fields["type"])
    loop = None if handler is None else context.state.find_loop(context.producer, fields["loop_id"])
    if handler is not None and loop is not None and loop.status == "running":  # nearly all events
        turn = handler(context, event, loop)  # type: ignore[arg-type]  # each takes the events of its own type
        _record_in_loop(context, fields, loop, turn)
        return
    placement = _dispatch(context, event)
    if placement.loop is None or placement.relation == "about":
        _record_outside_loop(context, fields, placement)
    else:
        _record_in_loop(context, fields, placement.loop, placement.turn, placement.relation)


def _dispatch(context: EventContext, event: Event) -> Placement:  # noqa: PLR0911  one arm a family of events
    """Handle an event that is not of a running loop; return where its line belongs."""
    match event.type:
        case "AgentStart":
            return loops.start(context, event)
        case "ParallelLoopStart":
            return parallel_groups.start(context, event)
        case "ParallelLoopEnd":
            return parallel_groups.end(context, event)
        case "SubAgentLinked":
            return annotation_handlers.link(context, event)
        case "SourceEvent":
            return _source_event(context, event)
        case "LoopWithdrawn" | "LoopReopened" | "CallReported" | "UsageReported" | "CostStated":
            return _correction(context, event)
        case "Unread":
            context.anomaly(
                "our_bug", "The recorder failed on a line. It is stored; a rebuild reads it again.", None
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


def _correction(context: EventContext, event: Correction) -> Placement:
    """Handle an event that corrects earlier ones, which our readers alone may do."""
    if context.origin != ORIGIN_DERIVED:
        return _place_annotation(context, None, event.session_id)
    match event.type:
        case "LoopWithdrawn":
            return withdrawal.withdraw(context, event)
        case "LoopReopened":
            return loops.reopen(context, event)
        case "CallReported":
            return turns.report_cost(context, event)
        case "UsageReported":
            return turns.report_usage(context, event)
        case "CostStated":
            return stated_costs.state(context, event)
        case _:
            assert_never(event)


def _without_running_loop(context: EventContext, event: LoopEvent) -> Placement:
    loop = _find_loop(context, event.loop_id)
    if loop is not None and event.type == "CompactionEnded" and event.block is not None:
        # A session file was imported after the loop had been recorded live: only the file has the block.
        return Placement(loop.session, loop, compactions.end(context, event, loop))
    if loop is not None:
        return _place_late(context, loop)
    return _place_orphan(context, event.loop_id) if event.loop_id else NO_PLACEMENT


def _find_loop(context: EventContext, loop_id: str | None) -> Loop | None:
    return None if loop_id is None else context.state.find_loop(context.producer, loop_id)


def _place_orphan(context: EventContext, loop_id: str) -> Placement:
    """Place an event of an unknown loop in the session that the loop's id begins with, if that is known."""
    session = context.state.sessions.get(session_id_of(loop_id))
    if loop_id not in context.state.orphans:
        context.anomaly("orphan", f"Events arrived for a loop that never started: {loop_id}", session)
    return Placement(session, relation="orphan")


def _place_late(context: EventContext, loop: Loop) -> Placement:
    if not loop.late:
        context.anomaly("late", "Events arrived after the loop had ended.", loop.session, loop)
    loop.late += 1
    return Placement(loop.session, loop, relation="late")


def _source_event(context: EventContext, event: SourceEvent) -> Placement:
    if event.is_new_type:
        context.anomaly("unknown_type", f"A line of an unknown type is kept as it is: {event.name}", None)
    if event.understood:
        return _place_translated(context, event)
    placement = _place_annotation(context, event.loop_id, event.session_id)
    loop = placement.loop
    if loop is None or not loop.unknown:
        context.anomaly(
            "unknown_type", f"An event of an unknown type arrived: {event.name}", placement.session, loop
        )
    if loop is not None:
        loop.unknown += 1
    return placement


def _place_translated(context: EventContext, event: SourceEvent) -> Placement:
    """Place a foreign line whose translation was fed before it: beside the events of its loop."""
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
    placement = _place_annotation(context, event.loop_id, event.session_id)
    if placement.session is not None:
        annotation_handlers.apply(context, event, placement.session, placement.loop)
        context.touch(placement.session)
    return placement


def _record_in_loop(
    context: EventContext,
    fields: dict[str, Any],
    loop: Loop,
    turn: Turn | None,
    relation: Relation = "within",
) -> None:
    """Add the event record of a line of a loop, and count the line in its loop and session.

    phi-core numbers all events but streaming deltas. Of a foreign line its translation is numbered, as native
    events are, and the line itself is counted: each line counts once and each event has one number.
    """
    kind, at, origin, session = fields["type"], fields.get("timestamp"), context.origin, loop.session
    is_late = relation == "late"
    sequence = None
    if kind != "MessageUpdate" and origin in _NUMBERED:
        sequence = loop.sequence
        loop.sequence += 1
    if origin != ORIGIN_DERIVED:
        loop.events += 1
        session.events += 1
    if at is not None and not is_late:
        loop.last_event_at = at
    sessions.note_event(session, at, context.received_at)
    name = clean(fields["name"], 100) if kind == "SourceEvent" else kind
    record = EventRecord(context.id, session, loop, turn, name, sequence, at, is_late, origin)
    changes = context.changes
    changes[loop] = loop
    changes[session] = session
    changes[record] = record


def _record_outside_loop(context: EventContext, fields: dict[str, Any], placement: Placement) -> None:
    """Add the event record of a line that is not an event of a loop."""
    session, loop, turn, relation = placement
    kind, at, origin = fields["type"], fields.get("timestamp"), context.origin
    if session is not None:
        session.events += origin != ORIGIN_DERIVED
        sessions.note_event(session, at, context.received_at)
        context.touch(session)
    name = clean(fields["name"], 100) if kind == "SourceEvent" else kind
    record = EventRecord(context.id, session, loop, turn, name, None, at, origin=origin)
    if relation == "orphan":
        record.loop_key = fields.get("loop_id") or ""
        context.state.add(record)
    context.touch(record)

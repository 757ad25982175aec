"""Loops: start, end and abort."""

from __future__ import annotations

from datetime import datetime, timedelta

from recorder.core.content import messages
from recorder.core.content.text import clean, strip_markdown
from recorder.core.context import NO_PLACEMENT, EventContext, Placement
from recorder.core.costs import billing
from recorder.core.event_time import arrival_if_earlier
from recorder.core.events import AgentEnd, AgentStart, LoopReopened
from recorder.core.handlers import (
    approvals,
    compactions,
    lifecycle,
    lineage,
    parallel_groups,
    sessions,
    tool_calls,
    turns,
)
from recorder.core.handlers.model_configs import find_or_add, infer_config
from recorder.core.money import token_counts
from recorder.core.records import Json, Loop, Outcome, Session, Status, Turn
from recorder.core.sources import CLIENT, NATIVE

_MS = timedelta(milliseconds=1)
_ENDED = {
    "completed": "Completed",
    "failed": "Failed",
    "cancelled": "Cancelled",
    "rejected": "Rejected",
    "limit": "Stopped at a limit",
    "aborted": "Aborted",
}


def start(context: EventContext, event: AgentStart) -> Placement:
    """Start a loop: the announced branch of a group, or one more run of its id."""
    session = sessions.get_or_create(context, event.session_id, event.timestamp)
    sessions.activate(context, session, event.agent_id, event.timestamp)
    if event.source == CLIENT and session.source == NATIVE:
        session.source = CLIENT
    approvals.settle_of_ended_loops(context, session)
    loop = _next_run(context, session, event)
    _describe(context, loop, event)
    _set_role(context, loop, event)
    lineage.link_parent(context, loop)
    context.state.index_started(loop)
    if session.head is None:
        lineage.link_session_refs(context, loop)
    lineage.link_refs(context, loop)
    lineage.link_caller(context, loop)
    lineage.link_run(context, loop)
    lineage.adopt_children(context, loop)
    sessions.count_start(session, loop)
    sessions.set_title(context, loop, event.title or "")
    sessions.set_activity(loop, "Starting")
    _adopt_orphans(context, loop)
    _adopt_prepared(context, loop, event.adopts)
    context.touch(loop)
    return Placement(session, loop)


def end(context: EventContext, event: AgentEnd, loop: Loop) -> Turn | None:
    """End a loop as its own AgentEnd reports; usage and outcome of the end replace those of its turns."""
    is_unbilled = billing.is_unbilled(loop)
    token_counts.replace_with_final_usage(loop, event.usage)
    turn = context.state.last_turns.get(loop)
    turns.cut(context, loop)
    if answer := messages.first_answer(messages.iter_messages(event.messages)):
        infer_config(context, loop, answer)
    if is_unbilled:
        billing.loop_ended(context, loop, event)
    outcome = lifecycle.outcome_of_end(event, loop.foreseen, _last_outcome(context, loop, event.messages))
    loop.rejection = None if event.rejection is None else clean(event.rejection)
    loop.error = clean(event.error or event.rejection or loop.error, 2_000)
    _set_title(context, loop, event.messages)
    parallel_groups.record_judgement(context, loop, event.messages)
    loop.end_event = context.id
    _close(context, loop, _status_at_end(event), outcome, event.timestamp)
    sessions.set_activity(loop, _how_it_ended(loop, event.messages))
    return turn if turn is not None and turn.state == "open" else None


def _status_at_end(event: AgentEnd) -> Status:
    if event.rejection is not None:
        return "rejected"
    return "aborted" if event.outcome == "aborted" else "completed"


def abort(context: EventContext, loop: Loop) -> None:
    """Abort a loop that was cut off; it ended at its last event."""
    turns.cut(context, loop)
    _close(context, loop, "aborted", "aborted", loop.last_event_at or context.received_at)
    sessions.set_activity(loop, _ENDED["aborted"])
    parallel_groups.abort(context, loop)


def reopen(context: EventContext, event: LoopReopened) -> Placement:
    """Continue a loop that had ended, with its last turn and what was cut at its end.

    Of a loop that runs, the last turn goes on if it ended and the event names it.
    """
    loop = context.state.find_loop(context.producer, event.loop_id)
    if loop is None:
        return NO_PLACEMENT
    if loop.status == "running" and event.turn_index is not None:
        turns.reopen(context, loop, event.turn_index)
        context.touch(loop)
        context.touch(loop.session)
    if loop.status in ("pending", "running"):
        return turns.placement(context, loop)
    context.reopen_billed_call(loop)
    context.state.take_back_end(loop)
    loop.status, loop.outcome, loop.rejection = "running", "", None
    loop.ended_at = loop.ended_received_at = loop.duration_ms = loop.end_event = None
    context.state.running_loops.setdefault(loop.producer, {})[loop] = None
    turns.reopen(context, loop, event.turn_index)
    tool_calls.reopen(context, loop, event.tool_call_ids)
    approvals.reopen(context, loop, event.tool_call_ids)
    if event.is_compacting:
        compactions.reopen(context, loop)
    loop.session.open_loops += 1
    sessions.update_status(loop.session)
    sessions.set_activity(loop, "Continuing")
    context.touch(loop)
    context.touch(loop.session)
    return turns.placement(context, loop)


def _next_run(context: EventContext, session: Session, event: AgentStart) -> Loop:
    runs = context.state.runs.get((session, event.loop_id))
    last = runs[-1] if runs else None
    if last is not None and last.status == "pending":
        last.producer = context.producer
        return last
    if last is not None and last.status == "running":
        context.anomaly("duplicate_start", "The loop started again before it ended.", session, last)
        if last.producer == context.producer:
            abort(context, last)
    loop = Loop(
        session=session,
        loop_id=event.loop_id,
        run=last.run + 1 if last else 1,
        producer=context.producer,
        status="pending",
    )
    context.add(loop)
    return loop


def _describe(context: EventContext, loop: Loop, event: AgentStart) -> None:
    loop.status = "running"
    loop.agent_id = event.agent_id
    loop.parent_loop_id = event.parent_loop_id
    loop.continuation_kind = event.continuation_kind.name
    tag = event.continuation_kind.tag
    loop.continuation_tag = None if tag is None else clean(tag)
    loop.metadata = event.metadata
    sessions.add_metadata(context, loop.session, event.metadata)
    loop.started_at = event.timestamp
    loop.start_event = context.id
    if event.config_snapshot is not None:
        loop.config = find_or_add(context, event.config_snapshot)


def _set_role(context: EventContext, loop: Loop, event: AgentStart) -> None:
    if loop.role == "branch":
        return
    if event.continuation_kind.name == "Compaction" or event.parent_loop_id == event.loop_id:
        loop.role = "compaction"
        return
    if event.parent_loop_id is not None:
        loop.role = "sub_agent" if event.is_sub_agent else loop.role
        return
    group = parallel_groups.judge_of(context.state, loop.session, loop.loop_id)
    if group is not None:
        loop.role = "judge"
        group.judge = loop
        context.touch(group)


def _adopt_orphans(context: EventContext, loop: Loop) -> None:
    for record in context.state.orphans.pop(loop.loop_id, ()):
        if record.session is not loop.session:
            loop.session.events += 1
            if record.session is not None:
                record.session.events -= 1
                context.touch(record.session)
        record.session, record.loop, record.late = loop.session, loop, True
        context.touch(record)


def _adopt_prepared(context: EventContext, loop: Loop, key: str | None) -> None:
    """Adopt the lines that were sent before the loop under `key`, such as its prompt: they are not late."""
    for record in context.state.orphans.pop(key or "", ()):
        record.session, record.loop, record.loop_key = loop.session, loop, ""
        loop.session.events += 1
        context.touch(record)


def _last_outcome(context: EventContext, loop: Loop, conversation: Json) -> Outcome:
    turn = context.state.last_turns.get(loop)
    if turn is not None and turn.state == "done":
        return lifecycle.outcome_of_stop(turn.stop_reason, turn.error)
    if last := messages.first_answer(messages.reversed_messages(conversation)):
        return lifecycle.outcome_of_stop(last.stop_reason, last.error)
    return "completed"


def _set_title(context: EventContext, loop: Loop, conversation: Json) -> None:
    if not loop.title:
        prompts = (
            messages.text_of(m) for m in messages.iter_messages(conversation) if messages.role_of(m) == "user"
        )
        sessions.set_title(context, loop, next(prompts, ""))


def _how_it_ended(loop: Loop, conversation: Json) -> str:
    if loop.outcome == "completed":
        answers = (m for m in messages.reversed_messages(conversation) if messages.role_of(m) == "assistant")
        text = next(filter(None, map(messages.text_of, answers)), "")
        return strip_markdown(text) if text else _ENDED["completed"]
    reason = loop.error if loop.outcome in ("failed", "rejected", "limit") else ""
    return f"{_ENDED[loop.outcome]}: {reason}" if reason else _ENDED[loop.outcome]


def _close(context: EventContext, loop: Loop, status: Status, outcome: Outcome, at: datetime) -> None:
    if not lifecycle.can_change(loop.status, status):
        return
    loop.status, loop.outcome, loop.ended_at = status, outcome, at
    loop.ended_received_at = arrival_if_earlier(at, context.received_at)
    loop.duration_ms = None if loop.started_at is None else max(0, (at - loop.started_at) // _MS)
    context.add_billed_call(loop)
    context.state.running_loops.get(loop.producer, {}).pop(loop, None)
    if outcome != "completed":
        approvals.cancel_of_loop(context, loop)
    context.state.note_end(loop.session, at)
    sessions.count_end(loop.session)
    context.touch(loop)
    context.touch(loop.session)

"""Turns: a model call and its tools, with the model, usage and errors that the answer reports."""

from __future__ import annotations

from recorder.core.changes import CostReported
from recorder.core.content import messages
from recorder.core.content.fingerprints import text_key
from recorder.core.content.messages import Answer
from recorder.core.content.text import clean, excerpt, strip_markdown
from recorder.core.context import NO_PLACEMENT, EventContext, Placement
from recorder.core.costs import billing
from recorder.core.event_time import arrival_if_earlier
from recorder.core.events import (
    CallReported,
    PrunApplied,
    RevertApplied,
    TurnEnd,
    TurnRequest,
    TurnStart,
    UsageReported,
)
from recorder.core.handlers import lifecycle, model_configs, parallel_groups, sessions
from recorder.core.money import prices, token_counts, usage
from recorder.core.records import Loop, Turn


def start(context: EventContext, event: TurnStart, loop: Loop) -> Turn:
    """Start a turn; one that is open is cut: a later TurnEnd could not be assigned to it."""
    _cut_turn(context, loop)
    turn = Turn(
        loop=loop,
        ordinal=_next_ordinal(context, loop),
        turn_index=event.turn_index,
        triggered_by=event.triggered_by,
        started_at=event.timestamp,
        agent_id=_agent(loop),
        start_event=context.id,
    )
    context.add(turn)
    sessions.set_activity(loop, "Asking the model")
    return turn


def request(context: EventContext, _event: TurnRequest, loop: Loop) -> Turn | None:
    """Note the request of the open turn."""
    turn = open_turn(context, loop)
    if turn is not None:
        turn.request_event = context.id
        context.touch(turn)
    return turn


def end(context: EventContext, event: TurnEnd, loop: Loop) -> Turn:
    """End a turn; one that never started is created for its usage."""
    turn = open_turn(context, loop) or _create_ended(context, event, loop)
    billing.unbill(turn)  # the usage that was reported before is a part of this one
    turn.state, turn.ended_at, turn.end_event = "done", event.timestamp, context.id
    turn.ended_received_at = arrival_if_earlier(event.timestamp, context.received_at)
    token_counts.set_counts(turn, event.usage)
    token_counts.add_turn_usage(loop, event.usage)
    loop.turns += 1
    loop.session.turns += 1
    answer, has_failed = messages.answer_of(event.message), bool(turn.error)
    if answer is not None:
        text = messages.text_of(event.message)
        turn.answer, turn.answer_key = excerpt(strip_markdown(text), 200), text_key(text)
        has_failed |= _apply_answer(context, turn, answer)
    turn.config = model_configs.config_of_turn(context, turn)
    loop.has_switched |= turn.config is not loop.config or bool(turn.agent_id)
    turn.errors = turn.tool_errors + has_failed
    loop.turn_errors += turn.errors
    billing.turn_ended(context, turn, event)
    context.state.note_ended_turn(turn)
    if event.has_usage:
        loop.context_tokens = usage.request_size(event.usage, billing.convention_of_turn(turn, loop.config))
    clear_text(context, loop)
    if loop.role == "judge":
        parallel_groups.record_judgement(context, loop, [event.message])
    context.touch(turn)
    return turn


def report_usage(context: EventContext, event: UsageReported) -> Placement:
    """Count the usage of the open turn so far, and what its answer reports; late, that of an ended turn."""
    loop = context.state.find_loop(context.producer, event.loop_id)
    if loop is None:
        return NO_PLACEMENT
    if event.is_late:
        return _report_late(context, event, loop)
    turn = open_turn(context, loop)
    if turn is None or loop.status != "running" or turn.turn_index != event.turn_index:
        return Placement(loop.session, loop, turn)
    _set_usage(context, event, turn)
    loop.context_tokens = usage.request_size(event.usage, billing.convention_of_turn(turn, loop.config))
    return Placement(loop.session, loop, turn)


def _report_late(context: EventContext, event: UsageReported, loop: Loop) -> Placement:
    """Count the usage of a turn that ended without any."""
    turn = context.state.turns_without_usage.get(loop, {}).pop(event.turn_index, None)
    if turn is not None and turn.state == "done" and not loop.is_one_call:
        context.reopen_billed_call(turn)
        _set_usage(context, event, turn)
        context.add_billed_call(turn)
        context.touch(loop)
        context.touch(loop.session)
    return Placement(loop.session, loop, turn)


def _set_usage(context: EventContext, event: UsageReported, turn: Turn) -> None:
    loop = turn.loop
    billing.unbill(turn)
    token_counts.set_counts(turn, event.usage)
    token_counts.add_turn_usage(loop, event.usage)
    if (answer := messages.answer_of(event.message)) is not None:
        turn.model, turn.provider = clean(answer.model, 512), clean(answer.provider, 512)
        model_configs.infer_config(context, loop, answer)
    turn.config = model_configs.config_of_turn(context, turn)
    billing.usage_reported(context, turn, event)
    context.touch(turn)


def reopen(context: EventContext, loop: Loop, turn_index: int | None) -> None:
    """Continue the last turn of a loop that goes on, if it was cut, or if it ended and has this index."""
    turn = context.state.last_turns.get(loop)
    if turn is None or not (turn.state == "cut" or (turn.state == "done" and turn.turn_index == turn_index)):
        return
    if turn.state == "done":
        context.reopen_billed_call(turn)
        billing.unbill(turn)
        _uncount_end(loop, turn)
    turn.state, turn.ended_at, turn.ended_received_at, turn.end_event = "open", None, None, None
    context.touch(turn)


def _uncount_end(loop: Loop, turn: Turn) -> None:
    loop.turns -= 1
    loop.session.turns -= 1
    loop.turn_errors -= turn.errors
    if turn.errors > turn.tool_errors:
        loop.errors -= 1
        loop.session.errors -= 1
    turn.errors, turn.error, turn.stop_reason, turn.answer, turn.answer_key = 0, "", "", "", ""


def report_cost(context: EventContext, event: CallReported) -> Placement:
    """Note the cost that was reported of an ended turn; the store knows the turn."""
    loop = context.state.find_loop(context.producer, event.loop_id)
    if loop is None:
        return NO_PLACEMENT
    last = context.state.last_turns.get(loop)
    turn = last if last is not None and last.turn_index == event.turn_index else None
    nano = None if event.cost is None else prices.parse_reported_cost(event.cost)
    change = CostReported(loop, event.turn_index, nano, turn)
    context.changes[change] = change
    context.touch(loop)
    context.touch(loop.session)
    return Placement(loop.session, loop, relation="about")


def no_change(context: EventContext, _event: PrunApplied | RevertApplied, loop: Loop) -> Turn | None:
    """Place an event in the open turn without a change."""
    return open_turn(context, loop)


def placement(context: EventContext, loop: Loop) -> Placement:
    """Return the placement of a line in the open turn of a running loop."""
    return Placement(loop.session, loop, open_turn(context, loop))


def open_turn(context: EventContext, loop: Loop) -> Turn | None:
    """Return the open turn of a loop, if it has one."""
    turn = context.state.last_turns.get(loop)
    return turn if turn is not None and turn.state == "open" else None


def clear_text(context: EventContext, loop: Loop) -> None:
    """Remove the streaming text of a loop."""
    for block in context.state.text_blocks.pop(loop, ()):
        context.remove(block)


def cut(context: EventContext, loop: Loop) -> None:
    """Cut the open turn, tools and compaction of a loop that is over."""
    _cut_turn(context, loop)
    for tool in context.state.running_tools.pop(loop, {}).values():
        tool.state = "cut"
        context.state.add(tool)
        context.touch(tool)
    compaction = context.state.running_compactions.pop(loop, None)
    if compaction is not None:
        compaction.state = "cut"
        context.state.add(compaction)
        context.touch(compaction)


def _cut_turn(context: EventContext, loop: Loop) -> None:
    turn = open_turn(context, loop)
    if turn is not None:
        billing.unbill(turn)
        turn.state = "cut"
        context.touch(turn)


def _create_ended(context: EventContext, event: TurnEnd, loop: Loop) -> Turn:
    ordinal = _next_ordinal(context, loop)
    index = ordinal if event.turn_index is None else event.turn_index
    turn = Turn(
        loop=loop,
        ordinal=ordinal,
        turn_index=index,
        started_at=event.timestamp,
        agent_id=_agent(loop),
    )
    context.add(turn)
    return turn


def _agent(loop: Loop) -> str:
    """Return the agent that took over, "" while it is the one that the loop began with."""
    return "" if loop.agent_label == loop.agent_id else loop.agent_label


def _next_ordinal(context: EventContext, loop: Loop) -> int:
    last = context.state.last_turns.get(loop)
    return 0 if last is None else last.ordinal + 1


def _apply_answer(context: EventContext, turn: Turn, answer: Answer) -> bool:
    """Set what the answer reports; return whether it failed."""
    turn.model, turn.provider = clean(answer.model, 512), clean(answer.provider, 512)
    turn.stop_reason = clean(answer.stop_reason, 40)
    was_counted = bool(turn.error)
    if answer.error:
        turn.error = clean(answer.error, 2_000)
    model_configs.infer_config(context, turn.loop, answer)
    if lifecycle.outcome_of_stop(answer.stop_reason, answer.error) != "failed":
        return False
    turn.loop.error = turn.error
    if not was_counted:
        turn.loop.errors += 1
        turn.loop.session.errors += 1
    return True

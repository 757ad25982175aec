"""Turns: one model call and its tools, with what the answer says of model, usage and errors."""

from __future__ import annotations

from recorder.core.content.messages import Answer
from recorder.core.content.text import clean
from recorder.core.context import Place, Step
from recorder.core.events import PrunApplied, RevertApplied, TurnEnd, TurnRequest, TurnStart
from recorder.core.handlers import lifecycle, loops, sessions, streaming_text, taken
from recorder.core.money import billing, token_counts, usage
from recorder.core.records import Loop, Turn


def start(step: Step, event: TurnStart, loop: Loop) -> Turn:
    """A turn starts; one that was open is cut, as its end can no longer be told apart."""
    _cut_turn(step, loop)
    turn = Turn(
        loop=loop,
        ordinal=_next_ordinal(step, loop),
        turn_index=event.turn_index,
        triggered_by=event.triggered_by,
        started_at=event.timestamp,
        start_event=step.id,
    )
    step.add(turn)
    sessions.doing(loop, "Asking the model")
    return turn


def request(step: Step, _event: TurnRequest, loop: Loop) -> Turn | None:
    """The request of the open turn is known."""
    turn = open_turn(step, loop)
    if turn is not None:
        turn.request_event = step.id
        step.touch(turn)
    return turn


def end(step: Step, event: TurnEnd, loop: Loop) -> Turn:
    """A turn ends; one that never started is kept for its usage."""
    turn = open_turn(step, loop) or _unannounced(step, event, loop)
    turn.state, turn.ended_at, turn.end_event = "done", event.timestamp, step.id
    token_counts.put(turn, event.usage)
    token_counts.spend(loop, event.usage)
    loop.turns += 1
    loop.session.turns += 1
    said = taken.said(event.message)
    if said is not None:
        turn.said, turn.said_key = said.line, said.key
        _take_answer(step, turn, said.answer)
    billing.turn_ended(step, turn, event)
    loop.context_tokens = usage.request_size(event.usage, loop.config, loop.session.source)
    streaming_text.clear(step, loop)
    step.touch(turn)
    return turn


def say_nothing(step: Step, _event: PrunApplied | RevertApplied, loop: Loop) -> Turn | None:
    """Nothing of the open turn changes."""
    return open_turn(step, loop)


def here(step: Step, loop: Loop) -> Place:
    """Where a line belongs that changes nothing about turns."""
    return Place(loop.session, loop, open_turn(step, loop))


def open_turn(step: Step, loop: Loop) -> Turn | None:
    """Return the turn that runs now."""
    turn = step.memory.turns.get(loop)
    return turn if turn is not None and turn.state == "open" else None


def cut(step: Step, loop: Loop) -> None:
    """The loop is over: what still runs in it was cut off."""
    _cut_turn(step, loop)
    for tool in step.memory.tools.pop(loop, {}).values():
        tool.state = "cut"
        step.touch(tool)
    compaction = step.memory.compactions.pop(loop, None)
    if compaction is not None:
        compaction.state = "cut"
        step.touch(compaction)


def _cut_turn(step: Step, loop: Loop) -> None:
    turn = open_turn(step, loop)
    if turn is not None:
        turn.state = "cut"
        step.touch(turn)


def _unannounced(step: Step, event: TurnEnd, loop: Loop) -> Turn:
    ordinal = _next_ordinal(step, loop)
    index = ordinal if event.turn_index is None else event.turn_index
    turn = Turn(loop=loop, ordinal=ordinal, turn_index=index, started_at=event.timestamp)
    step.add(turn)
    return turn


def _next_ordinal(step: Step, loop: Loop) -> int:
    last = step.memory.turns.get(loop)
    return 0 if last is None else last.ordinal + 1


def _take_answer(step: Step, turn: Turn, answer: Answer) -> None:
    turn.model, turn.provider = clean(answer.model, 512), clean(answer.provider, 512)
    turn.stop_reason = clean(answer.stop_reason, 40)
    was_counted = bool(turn.error)
    if answer.error:
        turn.error = clean(answer.error, 2_000)
    loops.infer_config(step, turn.loop, answer)
    outcome = lifecycle.outcome_of_stop(answer.stop_reason, answer.error)
    if outcome != "failed":
        return
    turn.loop.error = turn.error
    if not was_counted:
        turn.loop.errors += 1
        turn.loop.session.errors += 1

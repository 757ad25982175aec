"""Contexts that were shortened, as the runtime tells it."""

from __future__ import annotations

from recorder.core.content.text import clean
from recorder.core.context import Step
from recorder.core.events import CompactionEnded, CompactionStarted
from recorder.core.handlers import sessions, turns
from recorder.core.records import Compaction, Loop, Turn


def start(step: Step, event: CompactionStarted, loop: Loop) -> Turn | None:
    """A compaction began."""
    unfinished = step.memory.compactions.pop(loop, None)
    if unfinished is not None:
        unfinished.state = "cut"
        step.touch(unfinished)
    compaction = _new(step, loop)
    compaction.messages_before, compaction.tokens_before = event.message_count, event.estimated_tokens
    compaction.started_at, compaction.start_event = event.timestamp, step.id
    step.add(compaction)
    sessions.doing(loop, "Compacting the context")
    return compaction.turn


def end(step: Step, event: CompactionEnded, loop: Loop) -> Turn | None:
    """A compaction is over; its own counts replace those it began with."""
    compaction = step.memory.compactions.pop(loop, None)
    if compaction is None:
        # An imported block tells more of a compaction that was counted when it came live.
        is_known = event.block is not None and loop.compactions > 0
        compaction = Compaction(loop=loop) if is_known else _new(step, loop)
    compaction.state, compaction.ended_at, compaction.end_event = "done", event.timestamp, step.id
    if event.messages_before is not None:
        compaction.messages_before = event.messages_before
    if event.estimated_tokens_before is not None:
        compaction.tokens_before = event.estimated_tokens_before
    compaction.messages_after = event.messages_after
    compaction.tokens_after = event.estimated_tokens_after
    compaction.loops_compacted = event.loops_compacted
    if event.summary:
        compaction.content, compaction.summary = "summary", clean(event.summary)
    if event.block is not None:
        compaction.content, compaction.block = "block", event.block
    for each in (compaction, loop, loop.session):
        step.touch(each)
    return turns.open_turn(step, loop)


def _new(step: Step, loop: Loop) -> Compaction:
    loop.compactions += 1
    loop.session.compactions += 1
    return Compaction(loop=loop, turn=turns.open_turn(step, loop))

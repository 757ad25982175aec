"""Compactions of a loop's context, as the runtime reports them."""

from __future__ import annotations

from recorder.core.content.text import clean
from recorder.core.context import EventContext
from recorder.core.events import CompactionEnded, CompactionStarted
from recorder.core.handlers import sessions, turns
from recorder.core.records import Compaction, Loop, Turn


def start(context: EventContext, event: CompactionStarted, loop: Loop) -> Turn | None:
    """Open a compaction; one that is still open is cut."""
    unfinished = context.state.running_compactions.pop(loop, None)
    if unfinished is not None:
        unfinished.state = "cut"
        context.touch(unfinished)
    compaction = _new(context, loop)
    compaction.messages_before, compaction.tokens_before = event.message_count, event.estimated_tokens
    compaction.started_at, compaction.start_event = event.timestamp, context.id
    context.add(compaction)
    sessions.set_activity(loop, "Compacting the context")
    return compaction.turn


def end(context: EventContext, event: CompactionEnded, loop: Loop) -> Turn | None:
    """Close a compaction; counts of its end replace those of its start."""
    compaction = context.state.running_compactions.pop(loop, None)
    if compaction is None:
        # A block of an imported session file belongs to a compaction that was counted when recorded live.
        is_known = event.block is not None and loop.compactions > 0
        compaction = Compaction(loop=loop) if is_known else _new(context, loop)
    compaction.state, compaction.ended_at, compaction.end_event = "done", event.timestamp, context.id
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
    for record in (compaction, loop, loop.session):
        context.touch(record)
    return turns.open_turn(context, loop)


def reopen(context: EventContext, loop: Loop) -> None:
    """Continue the compaction that was cut when its loop ended, which goes on."""
    cut_parts = context.state.cut_parts.get(loop, {})
    for cut in reversed(cut_parts):
        if isinstance(cut, Compaction) and cut.state == "cut":
            del cut_parts[cut]
            cut.state = "running"
            context.add(cut)
            return


def _new(context: EventContext, loop: Loop) -> Compaction:
    loop.compactions += 1
    loop.session.compactions += 1
    return Compaction(loop=loop, turn=turns.open_turn(context, loop))

"""Streaming text: stored in blocks until its message ends, so that a page opened meanwhile shows it."""

from __future__ import annotations

from typing import Literal

from recorder.core.content import messages
from recorder.core.content.text import clean
from recorder.core.context import EventContext
from recorder.core.events import MessageEnd, MessageStart, MessageUpdate
from recorder.core.handlers import parallel_groups, sessions, turns
from recorder.core.records import Json, Loop, TextBlock, Turn

BLOCK = 2_000  # characters of a block at most, unless masking makes it longer
_KINDS: dict[str, Literal["text", "thinking", "tool_call"]] = {
    "Text": "text",
    "Thinking": "thinking",
    "ToolCallDelta": "tool_call",
}
_ACTIVITY = {"text": "Writing", "thinking": "Thinking", "tool_call": "Calling a tool"}


def start(context: EventContext, _event: MessageStart, loop: Loop) -> Turn | None:
    """Start a message; remove the text of an unfinished one before it."""
    turns.clear_text(context, loop)
    return turns.open_turn(context, loop)


def update(context: EventContext, event: MessageUpdate, loop: Loop) -> Turn | None:
    """Append a delta to the text of the message."""
    if isinstance(event.delta, dict) and len(event.delta) == 1:
        name, inside = next(iter(event.delta.items()))
        text = messages.text_field(inside, "delta") if isinstance(inside, dict) else ""
        if name in _KINDS and text:
            _append(context, loop, _KINDS[name], clean(text))
    return turns.open_turn(context, loop)


def end(context: EventContext, event: MessageEnd, loop: Loop) -> Turn | None:
    """End a message. The first prompt is its loop's title; a limit note sets the expected outcome."""
    turn = turns.open_turn(context, loop)
    if loop.role == "judge":
        parallel_groups.record_judgement(context, loop, [event.message])
    if turn is not None and loop.title and loop not in context.state.text_blocks:
        return turn  # the message changes nothing; reading it would make an as-of view load its body
    role = messages.role_of(event.message)
    if role == "assistant":
        turns.clear_text(context, loop)
    elif role == "user":
        _apply_prompt(context, loop, event.message, in_turn=turn is not None)
    return turn


def _apply_prompt(context: EventContext, loop: Loop, message: Json, *, in_turn: bool) -> None:
    text = messages.text_of(message)
    if text.startswith(messages.LIMIT_NOTE) and not in_turn:
        loop.foreseen = loop.foreseen or "limit"
        loop.error = clean(text, 2_000)
    elif not loop.title:
        sessions.set_title(context, loop, text)


def _append(
    context: EventContext, loop: Loop, kind: Literal["text", "thinking", "tool_call"], text: str
) -> None:
    if loop.activity != _ACTIVITY[kind]:
        sessions.set_activity(loop, _ACTIVITY[kind])
    blocks = context.state.text_blocks.get(loop, [])
    last = blocks[-1] if blocks else None
    if last is not None and last.kind == kind and (room := BLOCK - len(last.text)) > 0:
        last.text += text[:room]
        text = text[room:]
        context.touch(last)
    message = last.message if last else context.id
    part = last.part + 1 if last else 0
    for n, at in enumerate(range(0, len(text), BLOCK)):
        context.add(
            TextBlock(
                loop=loop,
                turn=turns.open_turn(context, loop),
                message=message,
                part=part + n,
                kind=kind,
                text=text[at : at + BLOCK],
            )
        )

"""Text that a model is writing: kept in blocks until the message is whole, so a late viewer sees it too."""

from __future__ import annotations

from typing import Literal

from recorder.core.content import messages
from recorder.core.content.text import clean
from recorder.core.context import EventContext
from recorder.core.events import MessageEnd, MessageStart, MessageUpdate
from recorder.core.handlers import sessions, turns
from recorder.core.records import Json, Loop, TextBlock, Turn

BLOCK = 2_000
_KINDS: dict[str, Literal["text", "thinking", "tool_call"]] = {
    "Text": "text",
    "Thinking": "thinking",
    "ToolCallDelta": "tool_call",
}
_DOING = {"text": "Writing", "thinking": "Thinking", "tool_call": "Calling a tool"}


def start(context: EventContext, _event: MessageStart, loop: Loop) -> Turn | None:
    """A message begins: what the one before it left unfinished goes."""
    turns.clear_text(context, loop)
    return turns.open_turn(context, loop)


def update(context: EventContext, event: MessageUpdate, loop: Loop) -> Turn | None:
    """A piece of text came."""
    if isinstance(event.delta, dict) and len(event.delta) == 1:
        name, inside = next(iter(event.delta.items()))
        text = messages.text_field(inside, "delta") if isinstance(inside, dict) else ""
        if name in _KINDS and text:
            _write(context, loop, _KINDS[name], clean(text))
    return turns.open_turn(context, loop)


def end(context: EventContext, event: MessageEnd, loop: Loop) -> Turn | None:
    """A message is whole. The first prompt names its loop; a limit's note says how the loop will end."""
    turn = turns.open_turn(context, loop)
    role = messages.role_of(event.message)
    if role == "assistant":
        turns.clear_text(context, loop)
    elif role == "user":
        _prompt(context, loop, event.message, in_turn=turn is not None)
    return turn


def _prompt(context: EventContext, loop: Loop, message: Json, *, in_turn: bool) -> None:
    text = messages.text_of(message)
    if text.startswith(messages.LIMIT_NOTE) and not in_turn:
        loop.foreseen = loop.foreseen or "limit"
        loop.error = clean(text, 2_000)
    elif not loop.title:
        sessions.set_title(context, loop, text)


def _write(
    context: EventContext, loop: Loop, kind: Literal["text", "thinking", "tool_call"], text: str
) -> None:
    if loop.activity != _DOING[kind]:
        sessions.set_activity(loop, _DOING[kind])
    blocks = context.state.text_blocks.get(loop, [])
    last = blocks[-1] if blocks else None
    if last is not None and last.kind == kind and (room := BLOCK - len(last.text)):
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

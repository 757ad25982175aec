"""Writes docs/events.md from the models: `python -m tools.events_reference`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, get_args, get_origin

from pydantic import PlainValidator
from pydantic.fields import FieldInfo

from recorder.core.events import (
    AgentStart,
    Aside,
    LoopEvent,
    ParallelLoopEnd,
    ParallelLoopStart,
    SubAgentLinked,
    Usage,
)
from recorder.core.events.base import fields_of

PAGE = Path(__file__).parents[1] / "docs/events.md"
THEIRS: tuple[type, ...] = (AgentStart, *get_args(LoopEvent), ParallelLoopStart, ParallelLoopEnd)
OURS: tuple[type, ...] = (*get_args(Aside), SubAgentLinked)
ADDED = {  # to phi-core's own events
    "AgentStart": ("title", "messages"),
    "AgentEnd": ("outcome", "error"),
    "TurnEnd": ("turn_index", "cost"),
    "MessageEnd": ("message_id",),
    "ToolExecutionStart": ("timestamp",),
    "ToolExecutionUpdate": ("timestamp",),
    "ToolExecutionEnd": ("timestamp", "duration_ms"),
    "CompactionEnded": ("summary",),
}
_BY_VALIDATOR = {
    "finite": "content",
    "_id": "id",
    "_id_or_none": "id",
    "_id_or_empty": 'id or ""',
    "_ids": "list of ids",
    "_timestamp": "time",
    "_timestamp_or_none": "time",
    "_text": "text",
    "_text_or_none": "text",
    "_snapshot": "object with `model` and `provider`",
    "_kind": '`"Initial"`, `"Default"`, `"Compaction"`, `{"Rerun": {"tag"}}` or `{"Branch": {"tag"}}`',
    "_trigger": "`User`, `SubAgent`, `Continuation` or `Branch`",
}
_INTRO = """# Events

One event is one line of JSON. `type` says which; unknown types and fields are kept and shown raw. This page
is written by `python -m tools.events_reference` from the models in `recorder/core`.

- **id**: 1 to 512 bytes without control, surrogate or bidi characters. **time**: RFC 3339 with a zone and at
  most 9 fractional digits. **count**: an integer from 0 to 2^53-1, a `turn_index` below 2^32.
- **content** is kept as it came, whatever it holds.
- A field in *italics* may be left out; one marked + is our addition to phi-core's event.

## Usage

{usage}

## phi-core's events
{theirs}
## Our events

Each of them names a loop, a session or both; `SubAgentLinked` names two.
{ours}"""


def page() -> str:
    """Return the page."""
    return _INTRO.format(
        usage="\n".join(_rows(Usage)),
        theirs="".join(_section(model) for model in THEIRS),
        ours="".join(_section(model) for model in OURS),
    )


def _section(model: type) -> str:
    return f"\n### {model.__name__}\n\n{model.__doc__}\n\n" + "\n".join(_rows(model)) + "\n"


def _rows(model: type) -> Iterator[str]:
    yield "| field | is |"
    yield "| --- | --- |"
    for name, info in fields_of(model).items():
        if name != "type":
            shown = f"`{info.alias or name}`"
            shown = shown if info.is_required() else f"*{shown}*"
            plus = " +" if name in ADDED.get(model.__name__, ()) else ""
            yield f"| {shown}{plus} | {_said(info)} |"


def _said(info: FieldInfo) -> str:
    for mark in info.metadata:
        if isinstance(mark, PlainValidator):
            return _BY_VALIDATOR[getattr(mark.func, "__name__", "")]
    return _said_of(info.annotation)


def _said_of(annotation: object) -> str:
    if annotation is object:
        return "content"
    if annotation is Usage:
        return "usage"
    if annotation in (int, bool):
        return "count" if annotation is int else "true or false"
    if get_origin(annotation) is Literal:
        return ", ".join(f"`{word}`" for word in get_args(annotation))
    parts = get_args(annotation)
    if type(None) in parts:
        return f"{_said_of(parts[0])} or null"
    return _said_of(parts[0])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

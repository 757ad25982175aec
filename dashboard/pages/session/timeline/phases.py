"""Phases of a loop: spans of waiting, answers, tool calls, approvals and compactions. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dashboard.pages.session.timeline.axis import Span

Kind = Literal["wait", "model", "tool", "failed", "approval", "compaction"]


@dataclass(frozen=True, slots=True)
class Phase:
    """One span with its kind, loop and turn. `is_received`: one of its bounds is a receive time."""

    kind: Kind
    loop: int
    span: Span
    turn: int | None = None  # its ordinal
    pk: int = 0  # of the tool
    name: str = ""
    is_received: bool = False
    is_open: bool = False
    config: int | None = None  # of the turn, for `wait` and `model`

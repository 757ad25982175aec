"""Turns of branches, as `turn_table` compares them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from dashboard.pages.evaluations.queries.groups import Branch
from dashboard.pages.evaluations.turn_table import Branch as Turns
from dashboard.pages.evaluations.turn_table import Step
from dashboard.shared.usage_bar import kinds
from recorder.core.content.text import excerpt
from recorder.models import ToolCall, Turn

MS = timedelta(milliseconds=1)
SUMMARY = 160
TOKENS = ("input", "output", "reasoning", "cache_read", "cache_write", "uncached", "visible")
READ = (
    *("loop_id", "ordinal", "state", "answer", "answer_key", "error", "tool_errors"),
    *("cost_nano", "unreconciled"),
    *("started_at", "ended_at", *(f"{count}_tokens" for count in TOKENS)),
)

Calls = Mapping[int, Sequence[tuple[str, str, str]]]  # by turn: tool, hash of its arguments, one-line summary


def turns(branches: Sequence[Branch]) -> Sequence[Turns]:
    """Return the turns of each branch. Two queries."""
    loops = [branch.pk for branch in branches]
    calls = _calls(loops)
    found: dict[int, list[Step]] = defaultdict(list)
    for turn in Turn.objects.filter(loop__in=loops).only(*READ).order_by("loop_id", "ordinal"):
        found[turn.loop_id].append(_step(turn, calls.get(turn.pk, ())))
    return [Turns(found[branch.pk], branch.url, branch.is_open) for branch in branches]


def _calls(loops: Sequence[int]) -> Calls:
    found: dict[int, list[tuple[str, str, str]]] = defaultdict(list)
    rows = ToolCall.objects.filter(loop__in=loops, turn__isnull=False, start_event__isnull=False).order_by(
        "pk"
    )
    for turn, *call in rows.values_list("turn_id", "tool_name", "arguments_key", "summary"):
        found[turn].append((call[0], call[1], call[2]))
    return found


def _step(turn: Turn, calls: Sequence[tuple[str, str, str]]) -> Step:
    return Step(
        number=turn.ordinal + 1,
        calls=tuple((name, key) for name, key, _ in calls),
        says=turn.answer_key or turn.error or turn.state,
        text=excerpt(", ".join(summary for *_, summary in calls if summary), SUMMARY)
        if calls
        else turn.error or turn.answer,
        failed_tools=turn.tool_errors,
        has_error=bool(turn.error),
        tokens=sum(kind.count for kind in kinds(turn)),
        cost=turn.cost_nano,
        duration_ms=_length(turn.started_at, turn.ended_at),
    )


def _length(started: datetime, ended: datetime | None) -> int | None:
    return None if ended is None else max((ended - started) // MS, 0)

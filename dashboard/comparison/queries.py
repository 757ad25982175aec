"""Turns of loops and of sessions, as `turn_table` compares them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from django.db.models import QuerySet

from dashboard.comparison.turn_table import AlignedTurn
from dashboard.shared.usage_bar import kinds
from dashboard.web import links
from recorder.core.content.text import excerpt
from recorder.models import ToolCall, Turn

MS = timedelta(milliseconds=1)
SUMMARY = 160
MOST = 2_000  # turns of a session that are compared
TOKENS = ("input", "output", "reasoning", "cache_read", "cache_write", "uncached", "visible")
READ = (
    *("loop_id", "ordinal", "state", "answer", "answer_key", "error", "tool_errors"),
    *("cost_nano", "unreconciled"),
    *("started_at", "ended_at", *(f"{count}_tokens" for count in TOKENS)),
)

Calls = Mapping[int, Sequence[tuple[str, str, str]]]  # by turn: tool, hash of its arguments, one-line summary


def turns_of_loops(loops: Collection[int]) -> Mapping[int, Sequence[AlignedTurn]]:
    """Return the turns of each loop. Two queries."""
    calls = _calls(ToolCall.objects.filter(loop__in=loops, turn__isnull=False))
    found: dict[int, list[AlignedTurn]] = {loop: [] for loop in loops}
    for turn in Turn.objects.filter(loop__in=loops).only(*READ).order_by("loop_id", "ordinal"):
        found[turn.loop_id].append(_step(turn, calls.get(turn.pk, ())))
    return found


def turns_of_session(slug: str, session: int) -> tuple[Sequence[AlignedTurn], bool]:
    """Return the first MOST turns of a session, loop after loop, and whether it has more. Two queries.

    They are numbered from 1 through the session; each has the URL of its place in its loop.
    """
    found = Turn.objects.filter(loop__session=session).only(*READ).order_by("loop_id", "ordinal")
    turns = list(found[: MOST + 1])
    shown = turns[:MOST]
    calls = _calls(ToolCall.objects.filter(turn__in=[turn.pk for turn in shown]))
    steps = [
        replace(
            _step(turn, calls.get(turn.pk, ())),
            number=number,
            url=f"{links.loop(slug, session, turn.loop_id, turn=turn.ordinal + 1)}#turn-{turn.ordinal + 1}",
        )
        for number, turn in enumerate(shown, 1)
    ]
    return steps, len(turns) > MOST


def _calls(calls: QuerySet[ToolCall]) -> Calls:
    found: dict[int, list[tuple[str, str, str]]] = defaultdict(list)
    rows = calls.filter(start_event__isnull=False).order_by("pk")
    for turn, *call in rows.values_list("turn_id", "tool_name", "arguments_key", "summary"):
        found[turn].append((call[0], call[1], call[2]))
    return found


def _step(turn: Turn, calls: Sequence[tuple[str, str, str]]) -> AlignedTurn:
    return AlignedTurn(
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

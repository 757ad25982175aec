"""Comparison of sessions, figure by figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import F, Min

from dashboard.pages.sessions.queries.rows import Row
from dashboard.rendering import number_format
from dashboard.rendering.number_format import NONE
from dashboard.shared.costs import sessions_with_sub_agents
from dashboard.shared.usage_bar import kinds
from recorder.models import LoopRecord, Turn


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of each session; `differs` unless all are equal."""

    words: str
    values: Sequence[str]

    @property
    def differs(self) -> bool:
        return len(set(self.values)) > 1


def agents(rows: Sequence[Row]) -> Figure:
    """Return the agents of sessions, in order of their first loops and turns. Two queries."""
    pks = [row.session.pk for row in rows]
    began = LoopRecord.objects.filter(session__in=pks).values("agent_id", of=F("session"))
    switched = Turn.objects.filter(loop__session__in=pks, loop__has_switched=True)
    took_over = switched.values("agent_id", of=F("loop__session"))
    names: dict[int, dict[str, None]] = {pk: {} for pk in pks}
    for found in (began, took_over):
        for row in found.annotate(first=Min("pk")).order_by("first"):
            names[row["of"]].setdefault(row["agent_id"])
    return Figure("Agents", [", ".join(filter(None, names[pk])) or NONE for pk in pks])


def compared(rows: Sequence[Row]) -> Sequence[Figure]:
    """Return the totals of sessions side by side. One query for each level of sub-agents."""
    sessions = [row.session for row in rows]
    whole = sessions_with_sub_agents(sessions)
    counts = ("loops", "turns", "tool_calls", "groups")
    words = ("Loops", "Turns", "Tool calls", "Evaluations")
    figures = [
        Figure(word, [number_format.exact(getattr(session, name)) for session in sessions])
        for word, name in zip(words, counts, strict=True)
    ]
    tokens = [kinds(session) for session in sessions]
    figures += [
        Figure(f"{same[0].name.capitalize()} tokens", [number_format.exact(kind.count) for kind in same])
        for same in zip(*tokens, strict=True)
    ]
    own = [number_format.money(session.cost_nano, session.unpriced) for session in sessions]
    costs = [
        number_format.money(whole[session.pk].cost_nano, whole[session.pk].unpriced) for session in sessions
    ]
    return [*figures, Figure("Cost", own), Figure("Cost, with sub-agents", costs)]

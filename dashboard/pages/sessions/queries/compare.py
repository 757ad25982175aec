"""Comparison of sessions: their figures with differences and ratios to the first, and their turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import F, Min

from dashboard.comparison.queries import MOST, turns_of_session
from dashboard.comparison.turn_section import TurnSection
from dashboard.comparison.turn_table import Branch, signed, table
from dashboard.pages.sessions.compare_params import Params
from dashboard.pages.sessions.queries.rows import Row
from dashboard.rendering.number_format import NONE, duration, exact, money, ratio
from dashboard.shared.costs import Cost, HasCost, sessions_with_sub_agents, words
from dashboard.shared.usage_bar import kinds
from recorder.models import LoopRecord, Session, Turn

MS = timedelta(milliseconds=1)
COUNTS = {
    "Loops": "loops",
    "Turns": "turns",
    "Tool calls": "tool_calls",
    "Evaluations": "groups",
}


@dataclass(frozen=True, slots=True)
class Value:
    """A figure of one session."""

    text: str
    difference: str = ""  # to the first session, with the ratio; "" for the first, and if unknown
    title: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of each session; `differs` unless all are equal."""

    words: str
    values: Sequence[Value]

    @property
    def differs(self) -> bool:
        return len({value.text for value in self.values}) > 1


@dataclass(frozen=True, slots=True)
class Column:
    """One session, with links to the comparison based on it, and without it ("" if too few are left)."""

    row: Row
    is_base: bool
    base_url: str
    without_url: str
    more_turns: bool  # it has turns that are not compared


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two to four sessions side by side; the first is the base."""

    columns: Sequence[Column]
    agents: Figure
    figures: Sequence[Figure]
    turns: TurnSection
    turns_max: int = MOST

    @property
    def is_cut(self) -> bool:
        return any(column.more_turns for column in self.columns)


def comparison(rows: Sequence[Row], params: Params) -> Comparison:
    """Compare sessions in this order. Two queries a session, two, and one for each level of sub-agents."""
    turns = [turns_of_session(row.slug, row.session.pk) for row in rows]
    branches = [
        Branch(steps, "", row.ended_at is None and not has_more)
        for row, (steps, has_more) in zip(rows, turns, strict=True)
    ]
    return Comparison(
        columns=[
            Column(row, n == 0, params.based_on(row.session.pk), params.without(row.session.pk), turns[n][1])
            for n, row in enumerate(rows)
        ],
        agents=_agents(rows),
        figures=_figures(rows),
        turns=TurnSection(
            table=table(branches, first=params.row, is_only_differences=params.is_only_differences),
            what="session",
            count=len(rows),
            is_only_differences=params.is_only_differences,
            link=params.but,
        ),
    )


def _agents(rows: Sequence[Row]) -> Figure:
    """Return the agents of sessions, in order of their first loops and turns. Two queries."""
    pks = [row.session.pk for row in rows]
    began = LoopRecord.objects.filter(session__in=pks).values("agent_id", of=F("session"))
    switched = Turn.objects.filter(loop__session__in=pks, loop__has_switched=True)
    took_over = switched.values("agent_id", of=F("loop__session"))
    names: dict[int, dict[str, None]] = {pk: {} for pk in pks}
    for found in (began, took_over):
        for row in found.annotate(first=Min("pk")).order_by("first"):
            names[row["of"]].setdefault(row["agent_id"])
    return Figure("Agents", [Value(", ".join(filter(None, names[pk])) or NONE) for pk in pks])


def _figures(rows: Sequence[Row]) -> Sequence[Figure]:
    """Return the totals of sessions side by side. One query for each level of sub-agents."""
    sessions = [row.session for row in rows]
    tokens = [kinds(session) for session in sessions]
    return [
        _amounts("Duration", [_duration_ms(row) for row in rows], duration),
        *(
            _amounts(name, [getattr(each, field) for each in sessions], exact)
            for name, field in COUNTS.items()
        ),
        *(
            _amounts(f"{same[0].name.capitalize()} tokens", [kind.count for kind in same], exact)
            for same in zip(*tokens, strict=True)
        ),
        *_costs(sessions),
    ]


def _duration_ms(row: Row) -> int | None:
    """Return the time from start to end; None while the session runs."""
    ended = row.ended_at
    return None if ended is None else max((ended - row.session.created_at) // MS, 0)


def _amounts(name: str, amounts: Sequence[int | None], form: Callable[[int], str]) -> Figure:
    base = amounts[0]
    return Figure(
        name,
        [
            Value("running" if amount is None else form(amount), _difference(amount, base, form) if n else "")
            for n, amount in enumerate(amounts)
        ],
    )


def _costs(sessions: Sequence[Session]) -> Sequence[Figure]:
    """Return three figures, of which the first two add up to the third."""
    whole = sessions_with_sub_agents(sessions)
    below = {session.pk: _rest(whole[session.pk], session) for session in sessions}
    return [
        _cost("Cost", sessions),
        _cost("Cost of sub-agents", [below[session.pk] for session in sessions]),
        _cost("Cost, with sub-agents", [whole[session.pk] for session in sessions]),
    ]


def _rest(whole: Cost, own: HasCost) -> Cost:
    """Return a cost without the part that is a session's own."""
    unpriced = whole.unpriced - own.unpriced
    nano = (whole.cost_nano or 0) - (own.cost_nano or 0)
    is_unknown = whole.cost_nano is None or (unpriced and not nano)
    return Cost(None if is_unknown else nano, unpriced, whole.cost_source)


def _cost(name: str, costs: Sequence[HasCost]) -> Figure:
    """Return costs; one with unpriced calls is a lower bound, and so is its difference to a complete one."""
    base, values = costs[0], []
    for n, cost in enumerate(costs):
        is_known = n and not base.unpriced
        difference = _difference(cost.cost_nano, base.cost_nano, money) if is_known else ""
        at_least = "at least " if difference and cost.unpriced else ""
        values.append(Value(money(cost.cost_nano, cost.unpriced), at_least + difference, words(cost)))
    return Figure(name, values)


def _difference(amount: int | None, base: int | None, form: Callable[[int], str]) -> str:
    """Return the signed difference and the ratio: +3, 150%; "" if equal or unknown."""
    if amount is None or base is None or amount == base:
        return ""
    return ", ".join(filter(None, (signed(amount - base, form), ratio(amount / base) if base else "")))

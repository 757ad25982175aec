"""Sessions or loops side by side: figures with differences and ratios to the first, settings, turns. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, Protocol

from dashboard.comparison.config_differences import SettingsSection, differences
from dashboard.comparison.queries import MOST
from dashboard.comparison.turn_section import TurnSection
from dashboard.comparison.turn_table import Branch, signed, table
from dashboard.pages.compare.params import CompareParams
from dashboard.pages.compare.requests import Request, request_differences
from dashboard.rendering.number_format import NONE, duration, exact, money, ratio
from dashboard.shared.queries.config_labels import Chip
from dashboard.shared.queries.costs import Cost, HasCost, words
from dashboard.shared.usage_bar import Usage, kinds
from recorder.core.records import Json

MS = timedelta(milliseconds=1)
TOOLS = 8  # names of called tools that are shown
TIMES = "\N{MULTIPLICATION SIGN}"

What = Literal["session", "loop"]


class Spender(HasCost, Usage, Protocol):
    """A record with a cost and with tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """The compared figures of one session or loop."""

    pk: int
    title: str
    url: str
    state: str
    agents: Sequence[str]
    chips: Sequence[Chip]
    snapshots: Sequence[Json]  # of its configs
    request: Request | None  # the first one that was recorded
    started_at: datetime | None
    ended_at: datetime | None  # None while it runs
    counts: Mapping[str, int]
    tools: Sequence[tuple[str, int]]  # called tools and numbers of calls, most calls first
    record: Spender
    whole: HasCost  # the cost with sub-agents
    turns: Branch
    has_more_turns: bool  # than are compared


@dataclass(frozen=True, slots=True)
class Value:
    """A figure of one column."""

    text: str
    difference: str = ""  # to the first column, with the ratio; "" for the first, and if unknown
    title: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of each column; `differs` unless all are equal."""

    words: str
    values: Sequence[Value]

    @property
    def differs(self) -> bool:
        return len({value.text for value in self.values}) > 1


@dataclass(frozen=True, slots=True)
class Column:
    """One column, with links to the comparison based on it, and without it ("" if too few are left)."""

    side: Side
    is_base: bool
    base_url: str
    without_url: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two to four sessions or loops side by side; the first is the base."""

    what: What
    columns: Sequence[Column]
    agents: Figure
    figures: Sequence[Figure]
    settings: SettingsSection
    turns: TurnSection
    turns_max: int = MOST

    @property
    def is_cut(self) -> bool:
        return any(column.side.has_more_turns for column in self.columns)


def comparison(what: What, sides: Sequence[Side], params: CompareParams) -> Comparison:
    """Compare sessions or loops in this order."""
    differing, equal = differences([side.snapshots for side in sides])
    differing_requests, equal_requests = request_differences([side.request for side in sides])
    return Comparison(
        what=what,
        columns=[
            Column(side, n == 0, params.based_on(side.pk), params.without(side.pk))
            for n, side in enumerate(sides)
        ],
        agents=Figure("Agents", [Value(", ".join(side.agents) or NONE) for side in sides]),
        figures=_figures(sides),
        settings=SettingsSection(
            "Settings that differ",
            [*differing, *differing_requests],
            [*equal, *equal_requests],
            columns=len(sides) + 1,
        ),
        turns=TurnSection(
            table=table(
                [side.turns for side in sides],
                first=params.row,
                is_only_differences=params.is_only_differences,
            ),
            what=what,
            count=len(sides),
            is_only_differences=params.is_only_differences,
            link=params.but,
        ),
    )


def _figures(sides: Sequence[Side]) -> Sequence[Figure]:
    tokens = [kinds(side.record) for side in sides]
    return [
        _amounts("Duration", [_duration_ms(side) for side in sides], duration),
        *(_amounts(name, [side.counts[name] for side in sides], exact) for name in sides[0].counts),
        Figure("Tools called", [_tools(side.tools) for side in sides]),
        *(
            _amounts(f"{same[0].name.capitalize()} tokens", [kind.count for kind in same], exact)
            for same in zip(*tokens, strict=True)
        ),
        *_costs(sides),
    ]


def _duration_ms(side: Side) -> int | None:
    """Return the time from start to end; None while it runs."""
    if side.ended_at is None or side.started_at is None:
        return None
    return max((side.ended_at - side.started_at) // MS, 0)


def _tools(tools: Sequence[tuple[str, int]]) -> Value:
    names = [f"{name} {TIMES}{exact(calls)}" if calls > 1 else name for name, calls in tools]
    more = [f"and {exact(len(names) - TOOLS)} more"] if len(names) > TOOLS else []
    return Value(", ".join([*names[:TOOLS], *more]) or NONE, title=", ".join(names) if more else "")


def _amounts(name: str, amounts: Sequence[int | None], form: Callable[[int], str]) -> Figure:
    base = amounts[0]
    return Figure(
        name,
        [
            Value("running" if amount is None else form(amount), _difference(amount, base, form) if n else "")
            for n, amount in enumerate(amounts)
        ],
    )


def _costs(sides: Sequence[Side]) -> Sequence[Figure]:
    """Return three figures, of which the first two add up to the third."""
    return [
        _cost("Cost", [side.record for side in sides]),
        _cost("Cost of sub-agents", [_rest(side.whole, side.record) for side in sides]),
        _cost("Cost, with sub-agents", [side.whole for side in sides]),
    ]


def _rest(whole: HasCost, own: HasCost) -> Cost:
    """Return a cost without the part that is a session's or loop's own."""
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

"""Results from aggregated rows. Pure.

The database adds up groups that agree in lineup, winning position, verdict and judge, one row per config.
`results` joins the rows of the same groups again. A row counts each group once per branch of its config, so
group counts
and judge costs are divided by the number of branches of that config. Cost: linear in the number of rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dashboard.shared.standings.tally import CostSum, Entry, Result
from recorder.core.records import Verdict

NANO = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Sums:
    """One aggregated row: groups of one lineup, verdict and judge, with usage of one config's branches."""

    configs: tuple[int, ...]  # by position
    won: int | None
    verdict: Verdict
    judge: int
    config: int
    branches: int
    cost: CostSum
    prompted: int
    cached: int
    judging: CostSum  # counted once per branch

    @classmethod
    def read(cls, row: Sequence[Any]) -> Sums:
        """Parse a row; amounts are two columns, whole dollars and remaining nano-dollars."""
        lineup, verdict, judge, config, branches, *cost, prompted, cached, dollars, nano, unpriced = row
        configs, won = _lineup(lineup)
        return cls(
            configs=configs,
            won=won,
            verdict=verdict,
            judge=judge,
            config=config,
            branches=branches,
            cost=_cost_sum(*cost),
            prompted=int(prompted or 0),
            cached=int(cached or 0),
            judging=_cost_sum(dollars, nano, unpriced),
        )


def results(rows: Iterable[Sums]) -> list[Result]:
    """Join the rows of the same groups."""
    same: dict[tuple[Any, ...], list[Sums]] = defaultdict(list)
    for row in rows:
        same[row.configs, row.won, row.verdict, row.judge].append(row)
    return [_result(group_rows) for group_rows in same.values()]


def _result(rows: list[Sums]) -> Result:
    any_row = rows[0]
    own = [row for row in rows if row.config == any_row.config]
    seats = any_row.configs.count(any_row.config)
    judging = sum((row.judging for row in own), CostSum())
    return Result(
        configs=any_row.configs,
        won=any_row.won,
        verdict=any_row.verdict,
        groups=sum(row.branches for row in own) // seats,
        judge=any_row.judge,
        judging=CostSum(judging.over(seats).nano, judging.unpriced // seats),
        entries=tuple(_entry(config, rows) for config in dict.fromkeys(row.config for row in rows)),
    )


def _entry(config: int, rows: Iterable[Sums]) -> Entry:
    own = [row for row in rows if row.config == config]
    return Entry(
        config,
        cost=sum((row.cost for row in own), CostSum()),
        prompted=sum(row.prompted for row in own),
        cached=sum(row.cached for row in own),
    )


def _cost_sum(dollars: Any, nano: Any, unpriced: Any) -> CostSum:
    nanos = None if dollars is None else Fraction(int(dollars) * NANO + int(nano))
    return CostSum(nanos, int(unpriced or 0))


def _lineup(text: str) -> tuple[tuple[int, ...], int | None]:
    """Parse "1:7*,0:3", in any order: position:config, the winner marked with "*"."""
    seats = sorted((int(place), config) for place, config in (seat.split(":") for seat in text.split(",")))
    won = next((at for at, (_, config) in enumerate(seats) if config.endswith("*")), None)
    return tuple(int(config.rstrip("*")) for _, config in seats), won

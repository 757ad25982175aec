"""From rows that the database added up to results: groups that went the same way. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dashboard.shared.standings.tally import Entry, Result, Spent
from recorder.core.handlers.verdict import Verdict

NANO = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Sums:
    """One row: groups of one lineup, verdict and judge, and what one config's branches in them took."""

    configs: tuple[int, ...]  # by place
    won: int | None
    verdict: Verdict
    judge: int
    config: int
    branches: int
    spent: Spent
    prompted: int
    cached: int
    judging: Spent  # once for each branch

    @classmethod
    def read(cls, row: Sequence[Any]) -> Sums:
        """Read a row; amounts come as whole dollars and the nano-dollars that are left."""
        lineup, verdict, judge, config, branches, *spent, prompted, cached, dollars, nano, unpriced = row
        configs, won = _lineup(lineup)
        return cls(
            configs=configs,
            won=won,
            verdict=verdict,
            judge=judge,
            config=config,
            branches=branches,
            spent=_spent(*spent),
            prompted=int(prompted or 0),
            cached=int(cached or 0),
            judging=_spent(dollars, nano, unpriced),
        )


def results(rows: Iterable[Sums]) -> list[Result]:
    """Put together what belongs to the same groups."""
    same: dict[tuple[Any, ...], list[Sums]] = defaultdict(list)
    for row in rows:
        same[row.configs, row.won, row.verdict, row.judge].append(row)
    return [_result(several) for several in same.values()]


def _result(rows: list[Sums]) -> Result:
    any_row = rows[0]
    own = [row for row in rows if row.config == any_row.config]
    seats = any_row.configs.count(any_row.config)
    judging = sum((row.judging for row in own), Spent())
    return Result(
        configs=any_row.configs,
        won=any_row.won,
        verdict=any_row.verdict,
        groups=sum(row.branches for row in own) // seats,
        judge=any_row.judge,
        judging=Spent(judging.over(seats).nano, judging.unpriced // seats),
        entries=tuple(_entry(config, rows) for config in dict.fromkeys(row.config for row in rows)),
    )


def _entry(config: int, rows: Iterable[Sums]) -> Entry:
    own = [row for row in rows if row.config == config]
    return Entry(
        config,
        spent=sum((row.spent for row in own), Spent()),
        prompted=sum(row.prompted for row in own),
        cached=sum(row.cached for row in own),
    )


def _spent(dollars: Any, nano: Any, unpriced: Any) -> Spent:
    known = None if dollars is None else Fraction(int(dollars) * NANO + int(nano))
    return Spent(known, int(unpriced or 0))


def _lineup(text: str) -> tuple[tuple[int, ...], int | None]:
    """Read "1:7*,0:3", in any order: configs by place, and the place that won."""
    seats = sorted((int(place), config) for place, config in (seat.split(":") for seat in text.split(",")))
    won = next((at for at, (_, config) in enumerate(seats) if config.endswith("*")), None)
    return tuple(int(config.rstrip("*")) for _, config in seats), won

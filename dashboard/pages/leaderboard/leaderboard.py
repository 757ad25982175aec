"""View model of the leaderboard: table, chart, matrix, pairs, positions, single-config cost. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dashboard.pages.leaderboard import pairwise
from dashboard.pages.leaderboard.chart import Chart, Mark, Point, chart
from dashboard.pages.leaderboard.pairwise import Always, Duel, Places
from dashboard.shared.queries.config_labels import Chip
from dashboard.shared.standings import tally
from dashboard.shared.standings.tally import Result, Standing

SHOWN = 12  # maximum number of configs in the matrix, of lineups and of judges
PAIRS_MAX = 40  # maximum number of pairs over all lineups


@dataclass(frozen=True, slots=True)
class ConfigRow:
    """One config in the table; `low`, `width` and `middle` place its interval bar, in percent."""

    chip: Chip
    standing: Standing
    low: float = 0
    width: float = 0
    middle: float = 0


@dataclass(frozen=True, slots=True)
class Cell:
    """One config against another; `heat` is 1 to 9 (5: equal wins), 0 when neither ever won."""

    duel: Duel
    heat: int
    against: Chip

    @property
    def percent(self) -> int:
        return round(100 * (self.duel.share or 0))


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """One row of the matrix; None for the config itself and for configs that it never met."""

    chip: Chip
    cells: Sequence[Cell | None]


@dataclass(frozen=True, slots=True)
class Pair:
    one: Chip
    other: Chip
    duel: Duel


@dataclass(frozen=True, slots=True)
class Table:
    """The sign tests of one lineup."""

    chips: Sequence[Chip]
    groups: int
    pairs: Sequence[Pair]


@dataclass(frozen=True, slots=True)
class Seats:
    """Wins by position of one judge, and the config that the warning names."""

    places: Places
    judge: Chip | None
    usual: Chip | None


@dataclass(frozen=True, slots=True)
class Instead:
    chip: Chip
    always: Always


@dataclass(frozen=True, slots=True)
class Dot:
    """One config in the chart."""

    row: ConfigRow
    mark: Mark


@dataclass(frozen=True, slots=True)
class Board:
    """All content of the page."""

    rows: Sequence[ConfigRow]
    groups: int
    judged: int
    ruled: int
    fallback: int
    branches: int
    judges: int
    chance: float  # win rate in percent if all configs were equal
    chart: Chart | None
    matrix: Sequence[MatrixRow]
    tables: Sequence[Table]
    tested: int  # number of pairs, including those not shown
    seats: Sequence[Seats]
    instead: Sequence[Instead]

    @property
    def leader(self) -> ConfigRow | None:
        return self.rows[0] if self.rows and self.rows[0].standing.rank else None

    @property
    def cheapest_win(self) -> ConfigRow | None:
        """Return the ranked config with the lowest cost per win; None if a lower bound is below it."""
        winners = [row for row in self.rows if row.standing.rank and row.standing.wins]
        first = min(winners, key=_least_per_win, default=None)
        return first if first and first.standing.per_win.is_whole else None

    @property
    def has_cheaper_unranked(self) -> bool:
        """Whether a config without a rank may win at a lower cost than `cheapest_win`."""
        first = self.cheapest_win
        return first is not None and any(
            _least_per_win(row) < _least_per_win(first)
            for row in self.rows
            if row.standing.wins and not row.standing.rank
        )

    @property
    def dots(self) -> Sequence[Dot]:
        return [Dot(self.rows[mark.at], mark) for mark in self.chart.marks] if self.chart else []

    @property
    def bounds(self) -> bool:
        """Whether the chart has a config at the lower bound of its cost."""
        return any(dot.mark.is_bound for dot in self.dots)

    @property
    def left_out(self) -> Sequence[ConfigRow]:
        """Return the configs that are not in the chart."""
        drawn = {mark.at for mark in self.chart.marks} if self.chart else set()
        return [row for at, row in enumerate(self.rows) if at not in drawn]


def board(results: Sequence[Result], p95_ms: Mapping[int, int], chips: Mapping[int, Chip]) -> Board:
    """Compute the board from the results of groups."""
    judged = tally.judged(results)
    rows = [_row(standing, chips) for standing in tally.standings(results, p95_ms)]
    shown = [row for row in rows if row.standing.judged][:SHOWN]
    count = Counter[str]()
    for result in results:
        count[result.verdict] += result.groups
    lineups = pairwise.lineups(judged)
    return Board(
        rows=rows,
        groups=count.total(),
        judged=count["judged"],
        ruled=count["rule"],
        fallback=count["fallback"],
        branches=sum(len(result.configs) * result.groups for result in results),
        judges=len({result.judge for result in judged} - {tally.UNKNOWN}),
        chance=_chance(judged),
        chart=chart([point for at, row in enumerate(rows) if (point := _point(at, row))]),
        matrix=_matrix(shown, pairwise.duels(judged)),
        tables=_tables(lineups, chips),
        tested=sum(len(lineup.duels) for lineup in lineups),
        seats=[_seats(places, chips) for places in pairwise.places(judged)[:SHOWN]],
        instead=[Instead(row.chip, pairwise.always(row.standing.config, judged)) for row in shown],
    )


def _least_per_win(row: ConfigRow) -> tuple[Fraction, bool]:
    """Return the lower bound of the cost of a win; of equal ones the bound that is a full price is last."""
    cost = row.standing.per_win
    return cost.nano or Fraction(), cost.is_whole


def _row(standing: Standing, chips: Mapping[int, Chip]) -> ConfigRow:
    interval, chip = standing.interval, chips[standing.config]
    if interval is None:
        return ConfigRow(chip, standing)
    low, high = 100 * interval.low, 100 * interval.high
    return ConfigRow(
        chip, standing, round(low, 2), round(high - low, 2), round(100 * (standing.rate or 0), 2)
    )


def _chance(judged: Sequence[Result]) -> float:
    groups = sum(result.groups for result in judged)
    return round(100 * sum(r.groups / len(r.configs) for r in judged) / groups, 2) if groups else 0


def _point(at: int, row: ConfigRow) -> Point | None:
    standing = row.standing
    cost, interval, rate = standing.per_task, standing.interval, standing.rate
    if standing.is_few or interval is None or rate is None:
        return None
    return Point(at, cost.rounded or 0, rate, interval, is_bound=not cost.is_whole)


def _matrix(rows: Sequence[ConfigRow], duels: Mapping[tuple[int, int], Duel]) -> list[MatrixRow]:
    return [
        MatrixRow(
            row.chip,
            [_cell(duels.get((row.standing.config, other.standing.config)), other.chip) for other in rows],
        )
        for row in rows
    ]


def _cell(duel: Duel | None, against: Chip) -> Cell | None:
    if duel is None:
        return None
    heat = 0 if duel.share is None else min(9, max(1, round(10 * duel.share)))
    return Cell(duel, heat, against)


def _tables(lineups: Sequence[pairwise.Lineup], chips: Mapping[int, Chip]) -> list[Table]:
    tables: list[Table] = []
    shown = 0
    for lineup in lineups[:SHOWN]:
        shown += len(lineup.duels)
        if tables and shown > PAIRS_MAX:
            break
        tested = [Pair(chips[duel.one], chips[duel.other], duel) for duel in lineup.duels[:PAIRS_MAX]]
        tables.append(Table([chips[config] for config in lineup.configs], lineup.groups, tested))
    return tables


def _seats(places: Places, chips: Mapping[int, Chip]) -> Seats:
    return Seats(places, chips.get(places.judge), chips.get(places.usual))

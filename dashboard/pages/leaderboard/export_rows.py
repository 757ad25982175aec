"""CSV rows of the leaderboard; column names are those of the read API. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from dashboard.pages.leaderboard.leaderboard import ConfigRow
from dashboard.shared.queries.costs import usd
from dashboard.shared.standings.tally import Standing
from dashboard.web.csv_response import Cell

HEADER = (
    "rank",
    "config",
    "name",
    "key",
    "groups",
    "judged",
    "wins",
    "win_rate",
    "ci_low",
    "ci_high",
    "cost_per_task_usd",
    "cost_per_win_usd",
    "unpriced",
    "p95_ms",
    "cache_hit_rate",
    "decided_by_rule",
    "picked_by_rule",
    "fallback",
    "wins_by_position",
)


def cells(row: ConfigRow) -> Sequence[Cell]:
    """Return the cells of a config's row, in the order of `HEADER`."""
    standing, chip = row.standing, row.chip
    interval = standing.interval
    return (
        standing.rank,
        chip.label,
        chip.full,
        chip.key,
        standing.groups,
        standing.judged,
        standing.wins,
        standing.rate,
        interval.low if interval else None,
        interval.high if interval else None,
        usd(standing.per_task.rounded),
        usd(standing.per_win.rounded),
        "yes" if standing.cost.unpriced else "no",
        standing.p95_ms,
        standing.cache_hits,
        standing.ruled,
        standing.picked,
        standing.fallback,
        places(standing),
    )


def places(standing: Standing) -> str:
    """Return the wins by position, separated by spaces."""
    return " ".join(map(str, standing.places))

"""The table of the page as rows of a sheet: exact figures, in plain numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from dashboard.pages.costs.figures import Figures
from dashboard.pages.costs.params import Params
from dashboard.web.csv_response import Cell

ROWS_MAX = 10_000
COLUMNS = (
    *("parameter", "loops", "turns", "uncached_input_tokens", "output_tokens", "reasoning_tokens"),
    *("cache_read_tokens", "cache_write_tokens", "cache_hit_rate", "cost_usd", "unpriced_calls"),
    *("cost_per_loop_usd", "p50_ms", "p95_ms", "failed_loops"),
)


def header(asked: Params) -> Sequence[str]:
    return asked.by, *COLUMNS


def rows(figures: Figures) -> Iterator[Sequence[Cell]]:
    """Return what the page shows, row by row; unknown is None."""
    for row in figures.rows:
        spent = row.sum
        yield (
            *(row.name.full or row.name.label, row.name.parameter, spent.loops, spent.turns),
            *(spent.uncached_tokens, spent.visible_tokens, spent.reasoning_tokens),
            *(spent.cache_read_tokens, spent.cache_write_tokens),
            None if spent.hit_rate is None else round(spent.hit_rate, 4),
            *(_usd(spent.cost_nano), spent.unpriced, _usd(spent.per_loop)),
            *(row.times.p50, row.times.p95, spent.failed),
        )


def _usd(nano: int | None) -> Decimal | None:
    return None if nano is None else Decimal(nano).scaleb(-9)

"""The costs table as CSV rows: unrounded numbers without units."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from dashboard.pages.costs.figures import Figures
from dashboard.pages.costs.params import CostsParams
from dashboard.web.csv_response import Cell

ROWS_MAX = 10_000
COLUMNS = (
    *("parameter", "loops", "turns", "uncached_input_tokens", "output_tokens", "reasoning_tokens"),
    *("cache_read_tokens", "cache_write_tokens", "cache_hit_rate", "cost_usd", "unpriced_calls"),
    *("cost_per_loop_usd", "p50_ms", "p95_ms", "failed_loops"),
)


def header(params: CostsParams) -> Sequence[str]:
    return params.by, *COLUMNS


def rows(figures: Figures) -> Iterator[Sequence[Cell]]:
    """Yield one CSV row per table row; an unknown value is None."""
    for row in figures.rows:
        usage = row.sum
        yield (
            *(row.name.full or row.name.label, row.name.parameter, usage.loops, usage.turns),
            *(usage.uncached_tokens, usage.visible_tokens, usage.reasoning_tokens),
            *(usage.cache_read_tokens, usage.cache_write_tokens),
            None if usage.hit_rate is None else round(usage.hit_rate, 4),
            *(_usd(usage.cost_nano), usage.unpriced, _usd(usage.per_loop)),
            *(row.times.p50, row.times.p95, usage.failed),
        )


def _usd(nano: int | None) -> Decimal | None:
    return None if nano is None else Decimal(nano).scaleb(-9)

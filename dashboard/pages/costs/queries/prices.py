"""Price table of a project, current and former prices, and the history of repricing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from itertools import groupby

from django.db.models import Sum
from django.utils import timezone

from recorder.core.money.prices import Band, Price, PriceKey, Rates, price_at
from recorder.models import Price as PriceRow
from recorder.models import Repricing, Session

SHOWN = 300  # rows of the price table
REPRICINGS_SHOWN = 5
LAST = 2**62  # an event number after every recorded event: "now"
RATES = ("input", "output", "reasoning", "cache_read", "cache_write", "cache_write_1h")
DEFAULT_RATE = {
    "reasoning": "output",
    "cache_read": "input",
    "cache_write": "input",
    "cache_write_1h": "cache_write",
}


@dataclass(frozen=True, slots=True)
class PriceTableRow:
    """One row of the price table, in dollars per million tokens."""

    pk: int
    model: str
    provider: str
    rates: tuple[str, ...]  # in the order of RATES
    above: tuple[str, ...]  # rates of larger requests, as text
    valid_from: datetime | None
    daily: str
    source: str
    is_own: bool
    is_used: bool  # applies to new calls
    can_be_withdrawn: bool  # a price of the project that was not withdrawn
    withdrawn_at: datetime | None  # None also for a price that an older version withdrew
    withdrawn_by: str


@dataclass(frozen=True, slots=True)
class RepricingRow:
    """One repricing of history, finished or running."""

    by: str
    model: str  # "": every model
    calls_read: int
    changed: int
    change_nano: int
    finished_at: datetime | None

    @property
    def size_nano(self) -> int:
        return abs(self.change_nano)


@dataclass(frozen=True, slots=True)
class Prices:
    """Price table and repricings; root of the panel costs/prices."""

    lines: tuple[PriceTableRow, ...]
    more: int
    repricings: tuple[RepricingRow, ...]  # newest first
    calls: int  # estimated number of calls that a running repricing reads


def book(project: int) -> dict[PriceKey, list[PriceRow]]:
    """Return all price rows by model and provider, oldest first. One query."""
    rows = PriceRow.objects.filter(project=project).order_by("model", "provider", "pk")
    return {pair: list(group) for pair, group in groupby(rows, lambda row: (row.model, row.provider))}


def prices(projects: Collection[int]) -> Mapping[int, Prices]:
    """Return the price tables of projects, prices in use first. Two or three queries per project."""
    return {project: _prices(project, timezone.now()) for project in projects}


def is_priced(rows: Iterable[PriceRow], now: datetime) -> bool:
    """Whether a new call has a price."""
    return price_at([_price(row) for row in rows], LAST, now) is not None


def _prices(project: int, now: datetime) -> Prices:
    lines = [line for rows in book(project).values() for line in _lines(rows, now)]
    repricings = Repricing.objects.filter(project=project).order_by("-pk")[:REPRICINGS_SHOWN]
    repriced = [_repricing_row(row) for row in repricings]
    is_running = any(item.finished_at is None for item in repriced)
    return Prices(
        tuple(lines[:SHOWN]),
        max(0, len(lines) - SHOWN),
        tuple(repriced),
        _calls(project) if is_running else 0,
    )


def own_price(project: int, pk: int) -> PriceRow | None:
    """Return a price that was set in the project, not copied from the price list. One query."""
    return PriceRow.objects.filter(project=project, pk=pk, is_own=True).first()


def is_repricing_ahead(project: int) -> bool:
    """Whether a repricing of all models was requested and has not started."""
    requested = Repricing.objects.filter(project=project, model="", finished_at=None)
    return requested.filter(stage="turns", position=0).exists()


def _calls(project: int) -> int:
    turns: int = Session.objects.filter(project=project).aggregate(turns_=Sum("turns", default=0))["turns_"]
    return turns


def _repricing_row(row: Repricing) -> RepricingRow:
    return RepricingRow(
        row.requested_by, row.model, row.processed, row.changed, row.change_nano, row.finished_at
    )


def _lines(rows: list[PriceRow], now: datetime) -> list[PriceTableRow]:
    used = price_at([_price(row) for row in rows], LAST, now)
    lines = [_line(row, is_used=used is not None and row.pk == used.id) for row in rows if row.bands]
    return sorted(lines, key=lambda line: (not line.is_used, -line.pk))


def _line(row: PriceRow, *, is_used: bool) -> PriceTableRow:
    first, *rest = _bands(row)
    by = f"override by {row.created_by}" if row.created_by else "override"
    return PriceTableRow(
        pk=row.pk,
        model=row.model,
        provider=row.provider,
        rates=tuple(_rate(first, name) for name in RATES),
        above=tuple(
            f"above {band.over:,} tokens {_amount(band.rates.input)} and {_amount(band.rates.output)}"
            for band in rest
        ),
        valid_from=row.valid_from,
        daily=row.daily,
        source=by if row.is_own else row.edition,
        is_own=row.is_own,
        is_used=is_used,
        can_be_withdrawn=row.is_own and row.until_event is None,
        withdrawn_at=row.withdrawn_at,
        withdrawn_by=row.withdrawn_by,
    )


def _rate(band: Band, name: str) -> str:
    rate = getattr(band.rates, name)
    default = DEFAULT_RATE.get(name)
    if default == "output" and rate == band.rates.output:
        return "as output"
    return _amount(rate)


def _amount(rate: Decimal) -> str:
    """Format dollars with at least two decimals: 5.00, 0.125."""
    plain = f"{rate.normalize():f}"
    return plain if len(plain.partition(".")[2]) > 2 else f"{rate:.2f}"


def _price(row: PriceRow) -> Price:
    return Price(
        row.pk,
        row.model,
        row.provider,
        row.is_own,
        row.edition,
        row.valid_from,
        row.daily,
        row.after_event,
        row.until_event,
        _bands(row),
    )


def _bands(row: PriceRow) -> tuple[Band, ...]:
    return tuple(
        Band(band["over"], Rates(**{name: Decimal(band[name]) for name in RATES})) for band in row.bands
    )

"""The prices of a project, those of today and older ones; models that were used and have none."""

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

SHOWN = 300
REPRICINGS_SHOWN = 5
LAST = 2**62  # after every recorded event
RATES = ("input", "output", "reasoning", "cache_read", "cache_write", "cache_write_1h")
OTHERWISE = {
    "reasoning": "output",
    "cache_read": "input",
    "cache_write": "input",
    "cache_write_1h": "cache_write",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the price table, in dollars per million tokens."""

    pk: int
    model: str
    provider: str
    rates: tuple[str, ...]  # in the order of RATES
    above: tuple[str, ...]  # what larger requests cost, in words
    valid_from: datetime | None
    daily: str
    source: str
    is_own: bool
    is_used: bool  # for calls from now on


@dataclass(frozen=True, slots=True)
class Repriced:
    """One time that history was priced again, or is."""

    by: str
    model: str  # "" is every model
    looked_at: int
    changed: int
    change_nano: int
    finished_at: datetime | None

    @property
    def size_nano(self) -> int:
        return abs(self.change_nano)


@dataclass(frozen=True, slots=True)
class Prices:
    """The price table and who repriced history; root of the panel costs/prices."""

    lines: tuple[Line, ...]
    more: int
    repricings: tuple[Repriced, ...]  # the newest first
    calls: int  # that a running repricing has to look at, about


def book(project: int) -> dict[PriceKey, list[PriceRow]]:
    """Return every row, by model and provider, oldest first. One query."""
    rows = PriceRow.objects.filter(project=project).order_by("model", "provider", "pk")
    return {pair: list(each) for pair, each in groupby(rows, lambda row: (row.model, row.provider))}


def prices(projects: Collection[int]) -> Mapping[int, Prices]:
    """Return the price tables of projects, those in use first. Two queries a project, or three."""
    return {project: _prices(project, timezone.now()) for project in projects}


def is_priced(rows: Iterable[PriceRow], now: datetime) -> bool:
    """Say whether a call from now on has a price."""
    return price_at([_price(row) for row in rows], LAST, now) is not None


def _prices(project: int, now: datetime) -> Prices:
    lines = [line for rows in book(project).values() for line in _lines(rows, now)]
    repricings = Repricing.objects.filter(project=project).order_by("-pk")[:REPRICINGS_SHOWN]
    repriced = [_repriced(row) for row in repricings]
    is_running = any(each.finished_at is None for each in repriced)
    return Prices(
        tuple(lines[:SHOWN]),
        max(0, len(lines) - SHOWN),
        tuple(repriced),
        _calls(project) if is_running else 0,
    )


def is_repricing_ahead(project: int) -> bool:
    """Say whether a repricing of every model is asked for and has not begun."""
    asked = Repricing.objects.filter(project=project, model="", finished_at=None)
    return asked.filter(stage="turns", position=0).exists()


def _calls(project: int) -> int:
    turns: int = Session.objects.filter(project=project).aggregate(turns_=Sum("turns", default=0))["turns_"]
    return turns


def _repriced(row: Repricing) -> Repriced:
    return Repriced(row.requested_by, row.model, row.looked_at, row.changed, row.change_nano, row.finished_at)


def _lines(rows: list[PriceRow], now: datetime) -> list[Line]:
    used = price_at([_price(row) for row in rows], LAST, now)
    lines = [_line(row, is_used=used is not None and row.pk == used.id) for row in rows if row.bands]
    return sorted(lines, key=lambda line: (not line.is_used, -line.pk))


def _line(row: PriceRow, *, is_used: bool) -> Line:
    first, *rest = _bands(row)
    by = f"override by {row.created_by}" if row.created_by else "override"
    return Line(
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
    )


def _rate(band: Band, name: str) -> str:
    rate = getattr(band.rates, name)
    like = OTHERWISE.get(name)
    if like == "output" and rate == band.rates.output:
        return "as output"
    return _amount(rate)


def _amount(rate: Decimal) -> str:
    """Write dollars with two decimals, or more if there are more: 5.00, 0.125."""
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
        Band(each["over"], Rates(**{name: Decimal(each[name]) for name in RATES})) for each in row.bands
    )

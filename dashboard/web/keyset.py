"""Keyset pages: a cursor says after which row a page begins, so new rows never shift what is read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar, cast

from django.db.models import F, IntegerField, Model, Q, QuerySet, Value
from django.db.models.expressions import Combinable

from recorder.models import KNOWN_COST

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
COST = "cost_nano"
COST_MAX = 2**63 - 1
MOMENTS = re.compile(r"(-?\d{1,18})-(\d{1,18})", re.ASCII)
COSTS = re.compile(r"c(-1|\d{1,19})-(\d{1,18})", re.ASCII)
IDS = re.compile(r"()(\d{1,18})", re.ASCII)

M = TypeVar("M", bound=Model)


@dataclass(frozen=True, slots=True)
class Cursor:
    """A row's place: its moment, its cost (-1 if unknown) or neither, and its id where these are equal."""

    at: datetime | int | None
    pk: int

    def __str__(self) -> str:
        if self.at is None:
            return str(self.pk)
        if isinstance(self.at, int):
            return f"c{self.at}-{self.pk}"
        return f"{(self.at - EPOCH) // timedelta(microseconds=1)}-{self.pk}"


@dataclass(frozen=True, slots=True)
class Page:
    """Which rows a page holds, and whether there are others above ("newer") and below it."""

    cursors: Sequence[Cursor]
    has_newer: bool
    has_older: bool


@dataclass(frozen=True, slots=True)
class Order:
    """By a moment's column, the cost or nothing, and then by id, in one direction. No cost is cheapest."""

    column: str
    newest_first: bool = True

    @property
    def backwards(self) -> Order:
        return replace(self, newest_first=not self.newest_first)

    def parse(self, text: str) -> Cursor:
        """Read a cursor of this order back. Raises ValueError."""
        form = {COST: COSTS, "": IDS}.get(self.column, MOMENTS)
        found = form.fullmatch(text)
        if found is None:
            raise ValueError("not a cursor of this order")
        return Cursor(self._read(found[1]), int(found[2]))

    def sort(self, rows: QuerySet[M]) -> QuerySet[M]:
        sign = "-" if self.newest_first else ""
        return self._placed(rows).order_by(*([f"{sign}place"] if self.column else []), f"{sign}id")

    def cursor(self, row: Model) -> Cursor:
        """Return the place of a row that was sorted."""
        return Cursor(getattr(row, "place"), row.pk)  # noqa: B009  `sort` has put it there

    def after(self, rows: QuerySet[M], cursor: Cursor) -> QuerySet[M]:
        """Return the rows below the cursor."""
        sign = "lt" if self.newest_first else "gt"
        below = Q(**{f"id__{sign}": cursor.pk})
        if not self.column:
            return rows.filter(below)
        # The first condition alone bounds the scan of the index; the rest only tells equal places apart.
        return self._placed(rows).filter(
            Q(**{f"place__{sign}e": cursor.at}),
            Q(**{f"place__{sign}": cursor.at}) | Q(below, place=cursor.at),
        )

    def cursors(self, rows: QuerySet[M], most: int) -> Sequence[Cursor]:
        """Return the places of the first rows."""
        return [Cursor(at, pk) for at, pk in self.sort(rows).values_list("place", "pk")[:most]]

    def page(self, rows: QuerySet[M], size: int, *, older: Cursor | None, newer: Cursor | None) -> Page:
        """Return the page of rows right below the cursor `older`, or right above `newer`. One query or two.

        Where it would hold nothing, or reach the top before it is full, it is the first page.
        """
        if newer is not None:
            found = self.backwards.cursors(self.backwards.after(rows, newer), size + 1)
            if len(found) > size:
                return Page(found[:size][::-1], has_newer=True, has_older=True)
        elif older is not None:
            found = self.cursors(self.after(rows, older), size + 1)
            if found:
                return Page(found[:size], has_newer=True, has_older=len(found) > size)
        found = self.cursors(rows, size + 1)
        return Page(found[:size], has_newer=False, has_older=len(found) > size)

    def _placed(self, rows: QuerySet[M]) -> QuerySet[M]:
        places: dict[str, Combinable] = {COST: KNOWN_COST, "": Value(None, IntegerField())}
        return cast("QuerySet[M]", rows.annotate(place=places.get(self.column, F(self.column))))

    def _read(self, place: str) -> datetime | int | None:
        if not self.column:
            return None
        number = int(place)
        if self.column == COST:
            if number > COST_MAX:
                raise ValueError("not a cost")
            return number
        try:
            return EPOCH + timedelta(microseconds=number)
        except OverflowError as error:
            raise ValueError("not a moment") from error


RECORDED = Order("")

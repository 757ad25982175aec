"""Keyset pagination: a cursor is the sort key and id of a row, and a page begins after it.

New rows do not shift a page. Cost: a page reads `limit` + 1 rows through an index, however deep it lies; a
keyset condition bounds the scan where OFFSET would read and skip rows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
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
    """A position: a row's time, a number (-1: no cost) or neither, and its id, which breaks ties."""

    at: datetime | int | None
    pk: int

    def __str__(self) -> str:
        if self.at is None:
            return str(self.pk)
        if isinstance(self.at, int):
            return f"c{self.at}-{self.pk}"
        return f"{(self.at - EPOCH) // timedelta(microseconds=1)}-{self.pk}"


@dataclass(frozen=True, slots=True)
class KeysetPage:
    """The rows of a page, and whether there are rows above ("newer") and below ("older") it."""

    cursors: Sequence[Cursor]
    has_newer: bool
    has_older: bool


@dataclass(frozen=True, slots=True)
class Order:
    """An order by time, a number or nothing, then by id, all in one direction; no cost sorts lowest.

    `number` is an expression of an integer that no column holds; its name is `column`.
    """

    column: str
    newest_first: bool = True
    number: Combinable | None = field(default=None, compare=False)

    @property
    def backwards(self) -> Order:
        return replace(self, newest_first=not self.newest_first)

    def parse(self, text: str) -> Cursor:
        """Parse a cursor of this order. Raises ValueError."""
        form = COSTS if self._is_number else MOMENTS if self.column else IDS
        match = form.fullmatch(text)
        if match is None:
            raise ValueError("not a cursor of this order")
        return Cursor(self._read(match[1]), int(match[2]))

    def sort(self, rows: QuerySet[M]) -> QuerySet[M]:
        sign = "-" if self.newest_first else ""
        return self._placed(rows).order_by(*([f"{sign}place"] if self.column else []), f"{sign}id")

    def cursor(self, row: Model) -> Cursor:
        """Return the cursor of a row that `sort` returned."""
        return Cursor(getattr(row, "place"), row.pk)  # noqa: B009  annotated by `sort`

    def after(self, rows: QuerySet[M], cursor: Cursor) -> QuerySet[M]:
        """Return the rows that follow the cursor in this order, unsorted."""
        sign = "lt" if self.newest_first else "gt"
        below = Q(**{f"id__{sign}": cursor.pk})
        if not self.column:
            return rows.filter(below)
        # The first condition bounds the index scan; the second breaks ties by id.
        return self._placed(rows).filter(
            Q(**{f"place__{sign}e": cursor.at}),
            Q(**{f"place__{sign}": cursor.at}) | Q(below, place=cursor.at),
        )

    def cursors(self, rows: QuerySet[M], most: int) -> Sequence[Cursor]:
        """Return the cursors of the first `most` rows."""
        return [Cursor(at, pk) for at, pk in self.sort(rows).values_list("place", "pk")[:most]]

    def page(self, rows: QuerySet[M], size: int, *, older: Cursor | None, newer: Cursor | None) -> KeysetPage:
        """Return the page of rows right below the cursor `older`, or right above `newer`. One query or two.

        If there are none, or fewer than `size` above `newer`, it is the first page.
        """
        if newer is not None:
            cursors = self.backwards.cursors(self.backwards.after(rows, newer), size + 1)
            if len(cursors) > size:
                return KeysetPage(cursors[:size][::-1], has_newer=True, has_older=True)
        elif older is not None:
            cursors = self.cursors(self.after(rows, older), size + 1)
            if cursors:
                return KeysetPage(cursors[:size], has_newer=True, has_older=len(cursors) > size)
        cursors = self.cursors(rows, size + 1)
        return KeysetPage(cursors[:size], has_newer=False, has_older=len(cursors) > size)

    def _placed(self, rows: QuerySet[M]) -> QuerySet[M]:
        places: dict[str, Combinable] = {COST: KNOWN_COST, "": Value(None, IntegerField())}
        place = self.number or places.get(self.column, F(self.column))
        return cast("QuerySet[M]", rows.annotate(place=place))

    @property
    def _is_number(self) -> bool:
        return self.column == COST or self.number is not None

    def _read(self, place: str) -> datetime | int | None:
        if not self.column:
            return None
        number = int(place)
        if self._is_number:
            if number > COST_MAX:
                raise ValueError("not a cost")
            return number
        try:
            return EPOCH + timedelta(microseconds=number)
        except OverflowError as error:
            raise ValueError("not a moment") from error


RECORDED = Order("")

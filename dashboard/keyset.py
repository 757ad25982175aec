"""Keyset pages: a cursor says after which row a page begins, so new rows never shift what is read."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeVar, cast

from django.db.models import F, Model, Q, QuerySet
from django.db.models.expressions import Combinable

from recorder.models import KNOWN_COST

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
CURSOR = re.compile(r"(?:(-?\d{1,18})|c(-1|\d{1,19}))-(\d{1,18})", re.ASCII)
COST = "cost_nano"
COST_MAX = 2**63 - 1

M = TypeVar("M", bound=Model)


@dataclass(frozen=True, slots=True)
class Cursor:
    """A row's place: its moment, or its cost (-1 if unknown), and its id where these are equal."""

    at: datetime | int
    pk: int

    def __str__(self) -> str:
        if isinstance(self.at, int):
            return f"c{self.at}-{self.pk}"
        return f"{(self.at - EPOCH) // timedelta(microseconds=1)}-{self.pk}"

    @classmethod
    def parse(cls, text: str) -> "Cursor":
        """Read a cursor back. Raises ValueError."""
        match = CURSOR.fullmatch(text)
        if match is None or (match[2] and int(match[2]) > COST_MAX):
            raise ValueError("not a cursor")
        if match[2]:
            return cls(int(match[2]), int(match[3]))
        try:
            return cls(EPOCH + timedelta(microseconds=int(match[1])), int(match[3]))
        except OverflowError as error:
            raise ValueError("not a cursor") from error


@dataclass(frozen=True, slots=True)
class Order:
    """By a moment's column or the cost, and then by id, in one direction. What has no cost is cheapest."""

    column: str
    newest_first: bool = True

    @property
    def backwards(self) -> "Order":
        return Order(self.column, not self.newest_first)

    def _placed(self, rows: QuerySet[M]) -> QuerySet[M]:
        place: Combinable = KNOWN_COST if self.column == COST else F(self.column)
        return cast("QuerySet[M]", rows.annotate(place=place))

    def sort(self, rows: QuerySet[M]) -> QuerySet[M]:
        sign = "-" if self.newest_first else ""
        return self._placed(rows).order_by(f"{sign}place", f"{sign}id")

    def cursor(self, row: Model) -> Cursor:
        """Return the place of a row that was sorted."""
        return Cursor(getattr(row, "place"), row.pk)  # noqa: B009  `sort` has put it there

    def cursors(self, rows: QuerySet[M], most: int) -> list[Cursor]:
        """Return the places of the first rows of a sorted query."""
        return [Cursor(at, pk) for at, pk in rows.values_list("place", "pk")[:most]]

    def after(self, rows: QuerySet[M], cursor: Cursor | None) -> QuerySet[M]:
        """Return the rows that come after the cursor; one of another order says nothing."""
        if cursor is None or isinstance(cursor.at, int) != (self.column == COST):
            return rows
        sign = "lt" if self.newest_first else "gt"
        same = Q(place=cursor.at, **{f"id__{sign}": cursor.pk})
        # The first condition alone bounds the scan of the index; the rest only tells equal places apart.
        return self._placed(rows).filter(
            Q(**{f"place__{sign}e": cursor.at}), Q(**{f"place__{sign}": cursor.at}) | same
        )

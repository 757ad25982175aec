"""Keyset pages: a cursor says after which row a page begins, so new rows never shift what is read."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from django.db.models import Model, Q, QuerySet

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
CURSOR = re.compile(r"(-?\d{1,18})-(\d{1,18})", re.ASCII)

M = TypeVar("M", bound=Model)


@dataclass(frozen=True, slots=True)
class Cursor:
    """A row's place: its moment, and its id where moments are equal."""

    at: datetime
    pk: int

    def __str__(self) -> str:
        return f"{(self.at - EPOCH) // timedelta(microseconds=1)}-{self.pk}"

    @classmethod
    def parse(cls, text: str) -> "Cursor":
        """Read a cursor back. Raises ValueError."""
        match = CURSOR.fullmatch(text)
        if match is None:
            raise ValueError("not a cursor")
        try:
            return cls(EPOCH + timedelta(microseconds=int(match[1])), int(match[2]))
        except OverflowError as error:
            raise ValueError("not a cursor") from error


@dataclass(frozen=True, slots=True)
class Order:
    """By a moment's column and then by id, in one direction."""

    column: str
    newest_first: bool = True

    @property
    def backwards(self) -> "Order":
        return Order(self.column, not self.newest_first)

    def sort(self, rows: QuerySet[M]) -> QuerySet[M]:
        sign = "-" if self.newest_first else ""
        return rows.order_by(f"{sign}{self.column}", f"{sign}id")

    def after(self, rows: QuerySet[M], cursor: Cursor | None) -> QuerySet[M]:
        """Return the rows that come after the cursor."""
        if cursor is None:
            return rows
        sign = "lt" if self.newest_first else "gt"
        same = Q(**{self.column: cursor.at, f"id__{sign}": cursor.pk})
        # The first condition alone bounds the scan of the index; the rest only tells equal moments apart.
        return rows.filter(
            Q(**{f"{self.column}__{sign}e": cursor.at}), Q(**{f"{self.column}__{sign}": cursor.at}) | same
        )

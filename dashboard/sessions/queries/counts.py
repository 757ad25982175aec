"""Counts that stop where nobody wants to know more."""

from dataclasses import dataclass
from typing import TypeVar

from django.db.models import Model, QuerySet

COUNT_MAX = 10_000

M = TypeVar("M", bound=Model)


@dataclass(frozen=True, slots=True)
class Count:
    """A number of rows; of more than `COUNT_MAX` only that is known."""

    value: int

    @property
    def text(self) -> str:
        return f"{COUNT_MAX:,}+" if self.value > COUNT_MAX else f"{self.value:,}"


def count(rows: QuerySet[M]) -> Count:
    """Count rows without reading more than anyone wants to know."""
    return Count(rows[: COUNT_MAX + 1].count())

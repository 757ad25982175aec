"""Keyset pages by id, in recorded order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from django.db.models import Model, QuerySet

from dashboard.api.params import ById

M = TypeVar("M", bound=Model)


@dataclass(frozen=True, slots=True)
class Slice(Generic[M]):
    """The rows of a page, the cursor of the next one, and how many rows there are in all."""

    rows: list[M]
    next: str | None
    total: int


def by_id(rows: QuerySet[M], asked: ById) -> Slice[M]:
    """Return the rows after the cursor."""
    found = list(rows.order_by("pk").filter(pk__gt=asked.cursor)[: asked.limit + 1])
    shown = found[: asked.limit]
    has_more = len(found) > len(shown)
    return Slice(shown, str(shown[-1].pk) if has_more else None, rows.count())

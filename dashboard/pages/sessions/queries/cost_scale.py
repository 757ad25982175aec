"""Scale of the cost bars in the list."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from django.db.models import Max

from recorder.models import Session


@dataclass(frozen=True, slots=True)
class Scale:
    """Highest cost on a page, which gets a full bar; root of the panel sessions/cost-scale."""

    max_cost_nano: int | None


def scales(rows: Collection[int], projects: Collection[int]) -> Mapping[int, Scale]:
    """Return the scale of each project. One query per project."""
    return {pk: Scale(_max_cost(pk, rows)) for pk in projects}


def _max_cost(project: int, rows: Collection[int]) -> int | None:
    shown = Session.objects.filter(project=project, pk__in=rows)
    found: int | None = shown.aggregate(highest=Max("cost_nano"))["highest"]
    return found

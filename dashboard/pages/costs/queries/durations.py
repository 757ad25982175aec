"""Durations of loops, over a bounded sample: the newest loops of each config or of the project.

Percentiles are exact up to the sample's size; the bound keeps the cost independent of the number of loops.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import TypeVar

from django.db.models import OuterRef, Q, Subquery

from dashboard.pages.costs.figures import Key, Times
from dashboard.pages.costs.params import Period
from recorder.models import LoopRecord, ModelConfig, Session

K = TypeVar("K", bound=Key)
OF_CONFIG = 500  # sample size: the newest loops of a config
OF_PROJECT = 5_000  # sample size: the newest loops of the project
SESSIONS = 2_000  # the newest sessions, from which the loops of a project are sampled
SAMPLE_OF_CONFIG = f"the newest {OF_CONFIG:,} loops of each config"
SAMPLE_OF_PROJECT = f"the newest {OF_PROJECT:,} loops"


def lengths_of_configs(configs: Collection[int], period: Period) -> Mapping[int, list[int]]:
    """Return the durations (ms) of each config's newest loops that ended in the period. Two queries."""
    newest = LoopRecord.objects.filter(config=OuterRef("pk")).order_by("-pk").values("pk")
    last = Subquery(newest[OF_CONFIG - 1 : OF_CONFIG])
    floors = ModelConfig.objects.filter(pk__in=configs).annotate(last=last).values_list("pk", "last")
    wanted = [Q(config=config, pk__gte=floor or 0) for config, floor in floors]
    if not wanted:
        return {}
    loops = LoopRecord.objects.filter(reduce(or_, wanted), **_ended(period))
    return _grouped(loops.values_list("config_id", "duration_ms"))


def lengths_of_newest(project: int, by: str, period: Period) -> Mapping[Key, list[int]]:
    """Return the durations (ms) of the project's newest loops, grouped by the column `by`. One query."""
    sessions = Session.objects.filter(project=project, last_event_at__gte=period.start)
    newest = sessions.order_by("-last_event_at", "-pk").values("pk")[:SESSIONS]
    loops = LoopRecord.objects.filter(session__in=newest, **_ended(period)).order_by("-pk")
    return _grouped(loops.values_list(by, "duration_ms")[:OF_PROJECT])


def times(lengths: Mapping[K, Sequence[int]]) -> Mapping[Key, Times]:
    """Return nearest-rank percentiles, which are always durations that occurred."""
    ranked = {key: sorted(values) for key, values in lengths.items() if values}
    return {key: Times(_rank(values, 50), _rank(values, 95)) for key, values in ranked.items()}


def _rank(ordered: Sequence[int], percent: int) -> int:
    return ordered[-(-len(ordered) * percent // 100) - 1]


def _ended(period: Period) -> dict[str, object]:
    return {"ended_at__gte": period.start, "ended_at__lt": period.end, "duration_ms__isnull": False}


def _grouped(rows: Iterable[tuple[K, int | None]]) -> Mapping[K, list[int]]:
    lengths: dict[K, list[int]] = defaultdict(list)
    for key, length in rows:
        if length is not None:
            lengths[key].append(length)
    return lengths

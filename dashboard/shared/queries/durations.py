"""Durations of loops by config, agent or session, over a bounded sample of the newest ones.

A loop whose turns had several configs or agents counts, for each of them, the time of the turns that it
answered. Percentiles are exact up to the sample's size; the bound keeps the cost independent of the number of
loops. A scope filters before the sample is cut: of the newest sessions that it selects.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce
from operator import or_
from typing import TypeVar

from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery, Window
from django.db.models.functions import RowNumber

from dashboard.shared.spending.queries import active
from dashboard.shared.spending.scope import EVERYTHING, Scope
from recorder.models import LoopRecord, ModelConfig, Turn, happened

K = TypeVar("K")
MS = timedelta(milliseconds=1)
OF_CONFIG = 500  # sample size: the newest loops of a config
OF_PROJECT = 5_000  # sample size: the newest loops of the project
SWITCHED = 500  # sample size: the newest loops whose turns had several configs or agents
SESSIONS = 2_000  # the newest sessions, from which the loops of a project are sampled
SAMPLE_OF_CONFIG = f"the newest {OF_CONFIG:,} loops of each config"
SAMPLE_OF_PROJECT = f"the newest {OF_PROJECT:,} loops"
_COLUMNS = ("config_id", "agent_id", "session_id", "at", "duration_ms", "segment")


@dataclass(frozen=True, slots=True)
class Period:
    """From `start` to before `end`; None is unbounded."""

    start: datetime | None = None
    end: datetime | None = None

    def within(self, column: str) -> dict[str, datetime]:
        """Return the conditions that a column lies in the period."""
        bounds = {f"{column}__gte": self.start, f"{column}__lt": self.end}
        return {name: bound for name, bound in bounds.items() if bound is not None}


@dataclass(frozen=True, slots=True)
class Duration:
    """The duration of a loop, or of the turns of a loop that one config and agent answered."""

    config: int | None
    agent: str
    session: int
    ended_at: datetime
    ms: int
    segment: str


def of_configs(
    project: int, configs: Collection[int], period: Period, scope: Scope = EVERYTHING
) -> list[Duration]:
    """Return the durations of each config's newest loops that ended in the period. Three queries at most."""
    loops = _of_each(configs, period) if scope.is_everything else _of_scope(project, configs, period, scope)
    if loops is None:
        return []
    switched = _of_turns(project, period, scope)
    return [*_durations(loops), *(duration for duration in switched if duration.config in configs)]


def _of_each(configs: Collection[int], period: Period) -> QuerySet[LoopRecord] | None:
    """Return the newest loops of each config, by its index; None without any config."""
    newest = LoopRecord.objects.filter(config=OuterRef("pk")).order_by("-pk").values("pk")
    last = Subquery(newest[OF_CONFIG - 1 : OF_CONFIG])
    floors = ModelConfig.objects.filter(pk__in=configs).annotate(last=last).values_list("pk", "last")
    wanted = [Q(config=config, pk__gte=floor or 0) for config, floor in floors]
    return _ended_loops(period).filter(reduce(or_, wanted), has_switched=False) if wanted else None


def _of_scope(
    project: int, configs: Collection[int], period: Period, scope: Scope
) -> QuerySet[LoopRecord] | None:
    """Return the newest loops of each config that a scope selects; None without any config."""
    if not configs:
        return None
    loops = _newest(project, period, scope).filter(config__in=configs, has_switched=False)
    rank = Window(RowNumber(), partition_by="config", order_by=F("pk").desc())
    return loops.annotate(place=rank).filter(place__lte=OF_CONFIG)


def of_newest(project: int, period: Period, scope: Scope = EVERYTHING) -> list[Duration]:
    """Return the durations of the newest loops of a scope that ended in the period. Two queries."""
    loops = _newest(project, period, scope).filter(has_switched=False)
    return [*_durations(loops[:OF_PROJECT]), *_of_turns(project, period, scope)]


def of_newest_whole(project: int, period: Period, scope: Scope = EVERYTHING) -> list[Duration]:
    """Return the durations of the newest loops of a scope, none divided by config or agent. One query."""
    return _durations(_newest(project, period, scope)[:OF_PROJECT])


def grouped(durations: Iterable[tuple[K, int]]) -> Mapping[K, list[int]]:
    """Return the durations of each key, ascending."""
    values_of: dict[K, list[int]] = defaultdict(list)
    for key, ms in durations:
        values_of[key].append(ms)
    return {key: sorted(values) for key, values in values_of.items()}


def percentile(ordered: Sequence[int], rank: int) -> int | None:
    """Return the nearest-rank percentile of ascending values: one of them; None without values."""
    return ordered[-(-len(ordered) * rank // 100) - 1] if ordered else None


def _newest(project: int, period: Period, scope: Scope) -> QuerySet[LoopRecord]:
    sessions = active(project, scope, period).filter(scope.having)
    newest = sessions.order_by("-last_event_at", "-pk").values("pk")[:SESSIONS]
    return _ended_loops(period).filter(scope.loops, session__in=newest).order_by("-pk")


def _ended_loops(period: Period) -> QuerySet[LoopRecord]:
    ended = LoopRecord.objects.annotate(at=happened("ended"))
    return ended.filter(duration_ms__isnull=False, **period.within("at"))


def _durations(loops: QuerySet[LoopRecord]) -> list[Duration]:
    rows = loops.values_list(*_COLUMNS)
    return [Duration(*row) for row in rows]


def _of_turns(project: int, period: Period, scope: Scope) -> list[Duration]:
    """Return the time of the turns of the newest switched loops, by loop, config and agent."""
    loops = _ended_loops(period).filter(session__project=project, has_switched=True)
    # Not by the key itself: SQLite would read all loops in its order instead of the index of switched ones.
    loops = loops.order_by((F("pk") + 0).desc())
    if not scope.is_everything:
        of_loop = Turn.objects.filter(scope.turns, loop=OuterRef("pk"), state="done")
        loops = loops.filter(Exists(of_loop), session__in=active(project, scope, period))
    newest = list(loops.values_list("pk", flat=True)[:SWITCHED])
    turns = Turn.objects.filter(scope.turns, loop__in=newest, state="done").annotate(
        at=happened("ended", "loop__")
    )
    columns = ("loop_id", "loop__agent_id", "loop__session_id", "at", "loop__segment")
    sums: dict[tuple[int, int | None, str, int, datetime, str], int] = defaultdict(int)
    for row in turns.values_list(*columns, "config_id", "agent_id", "started_at", "ended_at"):
        loop, agent, session, loop_ended_at, segment, config, own_agent, started_at, ended_at = row
        if ended_at is not None and loop_ended_at is not None:
            ms = max((ended_at - started_at) // MS, 0)
            sums[loop, config, own_agent or agent, session, loop_ended_at, segment] += ms
    return [
        Duration(config, agent, session, at, ms, segment)
        for (_, config, agent, session, at, segment), ms in sums.items()
    ]

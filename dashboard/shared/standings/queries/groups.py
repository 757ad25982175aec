"""Results of groups that ended, aggregated by the database.

Groups with the same lineup, winning position, verdict and judge are one result, so the number of rows does
not grow
with the number of groups.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import Case, F, Q, QuerySet, When

from dashboard.shared.compiled_query import select
from dashboard.shared.queries.config_labels import Chip, chips
from dashboard.shared.queries.session_filter import Wanted, matching
from dashboard.shared.standings.aggregate_groups import Sums, results
from dashboard.shared.standings.statistics import percentile
from dashboard.shared.standings.tally import UNKNOWN, Result
from recorder.models import LoopRecord, ModelConfig, ParallelGroupRecord, happened


@dataclass(frozen=True, slots=True)
class Groups:
    """Filter of the groups that count."""

    project: int
    since: datetime | None = None
    until: datetime | None = None
    task: str = ""
    agent: tuple[str, ...] = ()
    judge: tuple[str, ...] = ()  # keys of configs
    query: Q | None = None  # of evaluations
    query_of_loops: Q | None = None  # the same query, for scores, which loops have


@dataclass(frozen=True, slots=True)
class Found:
    """The results and what is needed to show them."""

    results: Sequence[Result]
    p95_ms: Mapping[int, int]  # 95th percentile of durations by config, over judged groups
    chips: Mapping[int, Chip]
    judges: Sequence[int]  # all judges, regardless of the filter by judge


def read_groups(groups: Groups) -> Found:
    """Read the groups. Four queries, five with a filter by judge."""
    ended = _ended_groups(groups)
    chosen = set(_configs(groups)) if groups.judge else None
    everything = _results(ended)
    selected = [result for result in everything if chosen is None or result.judge in chosen]
    judges = sorted({result.judge for result in everything} - {UNKNOWN})
    configs = {config for result in selected for config in result.configs} | set(judges)
    return Found(selected, _p95_ms(ended, chosen), chips(configs - {UNKNOWN}), judges)


def _configs(groups: Groups) -> Iterable[int]:
    return ModelConfig.objects.filter(project=groups.project, key__in=groups.judge).values_list(
        "pk", flat=True
    )


def _ended_groups(groups: Groups) -> QuerySet[ParallelGroupRecord]:
    """Return the groups that ended, of any judge."""
    where = Q(status="completed", session__project=groups.project)
    if groups.since:
        where &= Q(at__gte=groups.since)
    if groups.until:
        where &= Q(at__lte=groups.until)
    if groups.task or groups.agent:
        where &= Q(session__in=matching(groups.project, Wanted(q=groups.task, agent=groups.agent)))
    if groups.query is not None:
        where &= groups.query
    return ParallelGroupRecord.objects.alias(at=happened("ended")).filter(where)


def _results(ended: QuerySet[ParallelGroupRecord]) -> list[Result]:
    """Return the aggregated groups."""
    try:
        statement, values = _chosen(ended).query.sql_with_params()
    except EmptyResultSet:  # a query that nothing can match
        return []
    rows = select(_GROUP_SUMS.format(chosen=statement, concat=_concat()), *values)
    return results(map(Sums.read, rows))


def _chosen(ended: QuerySet[ParallelGroupRecord]) -> QuerySet[ParallelGroupRecord, tuple[Any, ...]]:
    """Return the columns to aggregate; judging cost is that of the judge's loop, else that of the group."""
    judging = Case(When(judge=None, then=F("cost_nano")), default=F("judge__cost_nano"))
    unpriced = Case(When(judge=None, then=F("unpriced")), default=F("judge__unpriced"))
    return ended.annotate(judging=judging, judging_unpriced=unpriced).values_list(
        "pk", "verdict", "judge__config", "judging", "judging_unpriced"
    )


# Dollars and nano-dollars are summed separately, so that absurdly large amounts do not overflow 64 bits.
_GROUP_SUMS = """
WITH chosen(id, verdict, judge, judging, unpriced) AS ({chosen}),
lineups AS (
  SELECT chosen.id, {concat}(
    COALESCE(l.branch_index, 0) || ':' || COALESCE(l.config_id, 0)
    || CASE WHEN l.is_selected THEN '*' ELSE '' END, ','
  ) AS lineup
  FROM chosen JOIN recorder_looprecord l ON l.group_id = chosen.id GROUP BY chosen.id
)
SELECT lineups.lineup, chosen.verdict, COALESCE(chosen.judge, 0), COALESCE(l.config_id, 0), COUNT(*),
  SUM(l.cost_nano / 1000000000), SUM(l.cost_nano %% 1000000000), SUM(l.unpriced),
  SUM(CASE WHEN l.unreconciled = 0
      THEN 1.0 * l.uncached_tokens + l.cache_read_tokens + l.cache_write_tokens END),
  SUM(CASE WHEN l.unreconciled = 0 THEN 1.0 * l.cache_read_tokens END),
  SUM(chosen.judging / 1000000000), SUM(chosen.judging %% 1000000000), SUM(chosen.unpriced)
FROM lineups
JOIN chosen ON chosen.id = lineups.id
JOIN recorder_looprecord l ON l.group_id = chosen.id
GROUP BY 1, 2, 3, 4
"""


def _p95_ms(ended: QuerySet[ParallelGroupRecord], judges: set[int] | None) -> dict[int, int]:
    """Return the 95th percentile of durations by config, over branches of judged groups."""
    branches = LoopRecord.objects.filter(group__in=ended.filter(verdict="judged"), duration_ms__isnull=False)
    if judges is not None:
        if not judges:
            return {}
        branches = branches.filter(group__judge__config__in=judges)
    # Sorting in Python takes a third of the time of SQLite's GROUP BY over so many distinct values.
    try:
        statement, values = branches.values_list("config", "duration_ms").query.sql_with_params()
    except EmptyResultSet:
        return {}
    durations: dict[int, list[int]] = defaultdict(list)
    for config, ms in select(statement, *values):
        durations[config or UNKNOWN].append(ms)
    return {config: percentile(95, values) for config, values in durations.items()}


def _concat() -> str:
    return "STRING_AGG" if connection.vendor == "postgresql" else "GROUP_CONCAT"

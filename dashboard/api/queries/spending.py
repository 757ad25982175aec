"""The list of usage and cost by config, model or agent.

It is read from the hourly and daily sums, or from turns and loops where the sums cannot answer a query.
A row counts the turns that its config, model or agent answered; `loops` are those that began with it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, TypeAlias

from django.db.models import F, Q, Sum, Value

from dashboard.api import schemas
from dashboard.api.params import OfUsage
from dashboard.api.queries.list_endpoint import ListEndpoint, by_offset
from dashboard.shared.queries import durations
from dashboard.shared.queries.config_labels import Chip, chips
from dashboard.shared.queries.costs import Cost, source_of
from dashboard.shared.session_json import money_fields
from dashboard.shared.session_json.usage import config, money
from dashboard.shared.spending import queries
from dashboard.shared.spending.scope import Scope
from dashboard.shared.time_functions import Day
from recorder.models import ModelConfig, Project, Spending
from recorder.pricing.rollups import FIGURES

HOUR = timedelta(hours=1)
LAST_HOUR = datetime(9999, 12, 31, 23, tzinfo=UTC)
# The columns that a row is grouped by: the expression of its key.
KEYS: Mapping[str, Any] = {
    "config": F("config_id"),
    "model": F("config__model"),
    "agent": F("agent_id"),
}
Key = int | str | None  # of a config, model or agent
_Sums: TypeAlias = Mapping[tuple[Key, str], Mapping[str, int]]  # figures by key and day


@dataclass(frozen=True, slots=True)
class _Row:
    key: Key
    day: str
    sums: Mapping[str, int]

    def __getitem__(self, name: str) -> int:
        return self.sums[name]

    @property
    def cost(self) -> Cost:
        priced = self["priced"]
        source = source_of(priced=priced, reported=self["reported"])
        return Cost(self["cost_nano"] if priced else None, self["unpriced"], source)


@dataclass(frozen=True, slots=True)
class _Names:
    """The names of rows, configs with their labels, and the durations by key and day."""

    by: str
    configs: Mapping[int, ModelConfig]
    labels: Mapping[int, Chip]
    times: Mapping[tuple[Key, str], Sequence[int]]


def _rows(project: Project, params: OfUsage) -> list[_Row]:
    """Return the sums by config, model or agent, or by one of them and day, from `since` to `until`."""
    scope = params.scope(project)
    if scope.rollups is None:
        sums_of = _of_records(project, params, scope)
    else:
        sums_of = _of_rollups(project, params, scope.rollups)
    rows = [_Row(*key, sums) for key, sums in sums_of.items()]
    nothing: Key = 0 if params.by == "config" else ""
    return sorted(rows, key=lambda row: (row.day, row.key or nothing))


def _of_records(project: Project, params: OfUsage, scope: Scope) -> _Sums:
    day = Day if params.by_day else None
    sums_of: dict[tuple[Key, str], Counter[str]] = defaultdict(Counter)
    for row in queries.sums(project.pk, scope, _period(params), (params.by,), day):
        sums_of[row[params.by], row.get("at", "")].update({name: row[name] for name in FIGURES})
    return sums_of


def _of_rollups(project: Project, params: OfUsage, where: Q) -> _Sums:
    within = _period(params).within("start")
    # Sums by day are 24 times fewer; those by hour are read only when a bound lies within a day.
    span = "hour" if any(edge.astimezone(UTC).hour for edge in within.values()) else "day"
    spending = Spending.objects.filter(where, project=project, span=span, **within)
    keyed = spending.annotate(key=KEYS[params.by], day=Day("start") if params.by_day else Value(""))
    sums: Iterable[Mapping[str, Any]] = keyed.values("key", "day").annotate(
        **{f"all_{name}": Sum(name) for name in FIGURES}
    )
    return {
        (row["key"], row["day"]): {name: int(row[f"all_{name}"] or 0) for name in FIGURES} for row in sums
    }


def _items(project: Project, params: OfUsage, rows: Sequence[_Row]) -> list[schemas.UsageRow]:
    of_project = ModelConfig.objects.filter(project=project)
    keys = {row.key for row in rows if row.key is not None}
    configs: dict[int, ModelConfig] = {}
    if params.by != "agent":
        is_wanted = Q(model__in=keys) if params.by == "model" else Q(pk__in=keys)
        configs = {model_config.pk: model_config for model_config in of_project.filter(is_wanted)}
    labels = chips(set(configs)) if params.by == "config" else {}
    names = _Names(params.by, configs, labels, _times(project, params, configs))
    return [_item(row, names) for row in rows]


def _item(row: _Row, names: _Names) -> schemas.UsageRow:
    key = row.key if isinstance(row.key, int) else 0
    used = names.configs.get(key)
    model = row.key if names.by == "model" else used and used.model
    times = names.times.get((row.key, row.day), ())
    return schemas.UsageRow(
        day=date.fromisoformat(row.day) if row.day else None,
        config=config(used, names.labels.get(key)),
        model=str(model) if model else None,
        provider=used.provider if used else None,
        agent=str(row.key) if names.by == "agent" and row.key else None,
        loops=row["loops"],
        turns=row["turns"],
        buckets=None if row["unreconciled"] else _buckets(row),
        unreconciled=row["unreconciled"],
        errors=row["errors"],
        p50_ms=durations.percentile(times, 50),
        p95_ms=durations.percentile(times, 95),
        **money(row.cost),
    )


def _buckets(row: _Row) -> money_fields.Buckets:
    return money_fields.Buckets(
        uncached_input=row["uncached_tokens"],
        cache_read=row["cache_read_tokens"],
        cache_write=row["cache_write_tokens"],
        output=row["visible_tokens"],
        reasoning=row["reasoning_tokens"],
    )


def _times(
    project: Project, params: OfUsage, configs: Mapping[int, ModelConfig]
) -> Mapping[tuple[Key, str], Sequence[int]]:
    """Return the durations in milliseconds of the newest ended loops, ascending, by key and day."""
    period, scope = _period(params), params.scope(project)
    if params.by == "agent":
        newest = durations.of_newest(project.pk, period, scope)
    else:
        newest = durations.of_configs(project.pk, set(configs), period, scope)

    def key(duration: durations.Duration) -> Key:
        if params.by == "agent":
            return duration.agent
        return duration.config if params.by == "config" else configs[duration.config or 0].model

    def day(duration: durations.Duration) -> str:
        return f"{duration.ended_at.astimezone(UTC):%Y-%m-%d}" if params.by_day else ""

    return durations.grouped(((key(duration), day(duration)), duration.ms) for duration in newest)


def _period(params: OfUsage) -> durations.Period:
    """Return the period from `since` to `until`, widened to whole hours: no sum is finer."""
    return durations.Period(params.since and _hour(params.since), params.until and _hour_from(params.until))


def _hour_from(moment: datetime) -> datetime | None:
    """Return the first full hour from `moment` on; None, no bound, in the last one of the calendar."""
    hour = _hour(moment)
    if hour == moment:
        return hour
    return hour + HOUR if hour < LAST_HOUR else None


def _hour(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)


USAGE = ListEndpoint(response=schemas.UsageRows, rows=_rows, cut=by_offset, items=_items)

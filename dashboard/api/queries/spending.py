"""The list of usage and cost by config, read from the hourly and daily sums, never from turns."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.db.models import OuterRef, Q, Subquery, Sum, Value

from dashboard.api import schemas
from dashboard.api.params import OfUsage
from dashboard.api.queries.list_endpoint import ListEndpoint, by_offset
from dashboard.shared.config_labels import Chip, chips
from dashboard.shared.costs import Cost, source_of
from dashboard.shared.date_trunc import Day
from dashboard.shared.session_json import money_fields
from dashboard.shared.session_json.usage import config, money
from recorder.models import LoopRecord, ModelConfig, Project, Spending
from recorder.pricing.rollups import FIGURES

HOUR = timedelta(hours=1)
SAMPLE = 1_000  # newest loops of a config whose durations count
Key = tuple[int | None, str]  # config and day


@dataclass(frozen=True, slots=True)
class _Row:
    config: int | None
    day: str
    sums: Mapping[str, Any]

    def __getitem__(self, name: str) -> int:
        return int(self.sums[f"all_{name}"] or 0)

    @property
    def cost(self) -> Cost:
        priced = self["priced"]
        source = source_of(priced=priced, reported=self["reported"])
        return Cost(self["cost_nano"] if priced else None, self["unpriced"], source)


def _rows(project: Project, params: OfUsage) -> list[_Row]:
    """Return the sums by config, or by config and day, over the hours from `since` to `until`."""
    within = _within("start", params)
    # Sums by day are 24 times fewer; those by hour are read only when a bound lies within a day.
    span = "hour" if any(edge.astimezone(UTC).hour for edge in within.values()) else "day"
    spending = Spending.objects.filter(project=project, span=span, **within).annotate(day=Day("start"))
    by = ("config_id", "day") if params.by_day else ("config_id",)
    sums = spending.values(*by).annotate(**{f"all_{name}": Sum(name) for name in FIGURES})
    rows = [_Row(row["config_id"], row.get("day", ""), row) for row in sums]
    return sorted(rows, key=lambda row: (row.day, row.config or 0))


def _items(_: Project, params: OfUsage, rows: Sequence[_Row]) -> list[schemas.UsageRow]:
    configs = {row.config for row in rows if row.config}
    times = _times(params, configs)
    records = ModelConfig.objects.in_bulk(configs)
    labels = chips(set(records))
    return [_item(row, records, labels, times.get((row.config, row.day), ())) for row in rows]


def _item(
    row: _Row, configs: Mapping[int, ModelConfig], labels: Mapping[int, Chip], times: Sequence[int]
) -> schemas.UsageRow:
    used = configs.get(row.config or 0)
    return schemas.UsageRow(
        day=date.fromisoformat(row.day) if row.day else None,
        config=config(used, labels.get(row.config or 0)),
        model=used.model if used else None,
        provider=used.provider if used else None,
        loops=row["loops"],
        turns=row["turns"],
        buckets=None if row["unreconciled"] else _buckets(row),
        unreconciled=row["unreconciled"],
        errors=row["errors"],
        p50_ms=percentile(times, 50),
        p95_ms=percentile(times, 95),
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


def percentile(ordered: Sequence[int], rank: int) -> int | None:
    """Return the nearest-rank percentile of ascending values: one of them; None without values."""
    return ordered[-(-len(ordered) * rank // 100) - 1] if ordered else None


def _times(params: OfUsage, configs: Collection[int]) -> Mapping[Key, list[int]]:
    """Return the durations in milliseconds of the newest ended loops, ascending, by config and day."""
    ended = LoopRecord.objects.filter(duration_ms__isnull=False, **_within("ended_at", params))
    newest = ended.filter(config=OuterRef("pk")).order_by("-pk").values("pk")
    floors = ModelConfig.objects.filter(pk__in=configs).annotate(floor=Subquery(newest[SAMPLE - 1 : SAMPLE]))
    wanted = Q(pk__in=())
    for config_, floor in floors.values_list("pk", "floor"):
        wanted |= Q(config=config_, pk__gte=floor or 0)
    times: dict[Key, list[int]] = {}
    loops = ended.filter(wanted).annotate(day=Day("ended_at") if params.by_day else Value(""))
    for key in loops.order_by("duration_ms").values_list("config_id", "day", "duration_ms"):
        times.setdefault((key[0], key[1]), []).append(key[2] or 0)
    return times


def _within(column: str, params: OfUsage) -> dict[str, datetime]:
    """Return the conditions of `since` and `until`, widened to whole hours: no sum is finer."""
    within = {}
    if params.since:
        within[f"{column}__gte"] = _hour(params.since)
    if params.until:
        within[f"{column}__lt"] = _hour(params.until + HOUR - timedelta(microseconds=1))
    return within


def _hour(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)


USAGE = ListEndpoint(response=schemas.UsageRows, rows=_rows, cut=by_offset, items=_items)

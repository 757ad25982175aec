"""What configs spent, as items of the read API: read from the sums that are kept, never from turns."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.db.models import OuterRef, Q, Subquery, Sum, Value

from dashboard.api import schemas
from dashboard.api.params import OfUsage
from dashboard.shared.config_labels import Chip, chips
from dashboard.shared.costs import Cost, source_of
from dashboard.shared.date_trunc import Day
from dashboard.shared.session_json import money_fields
from dashboard.shared.session_json.usage import config, money
from recorder.models import LoopRecord, ModelConfig, Project, Spending
from recorder.pricing.rollups import FIGURES

HOUR = timedelta(hours=1)
SAMPLE = 1_000  # loops of a config whose times count: the newest
Key = tuple[int | None, str]  # config and day


def usage_rows(project: Project, asked: OfUsage) -> schemas.UsageRows:
    """Return what each config spent in the hours from `since` to `until`, by day if that is asked for."""
    within = _within("start", asked)
    span = "hour" if any(edge.astimezone(UTC).hour for edge in within.values()) else "day"
    kept = Spending.objects.filter(project=project, span=span, **within).annotate(day=Day("start"))
    by = ("config_id", "day") if asked.by_day else ("config_id",)
    sums = kept.values(*by).annotate(**{f"all_{name}": Sum(name) for name in FIGURES})
    found = [_Row(row["config_id"], row.get("day", ""), row) for row in sums]
    found.sort(key=lambda row: (row.day, row.config or 0))
    shown = found[asked.cursor : asked.cursor + asked.limit]
    times = _times(asked, {row.config for row in shown if row.config})
    around = ModelConfig.objects.in_bulk([row.config for row in shown if row.config])
    named = chips(set(around))
    return schemas.UsageRows(
        items=[_item(row, around, named, times.get((row.config, row.day), ())) for row in shown],
        next=str(asked.cursor + asked.limit) if len(found) > asked.cursor + asked.limit else None,
        total=len(found),
    )


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


def _item(
    row: _Row, configs: Mapping[int, ModelConfig], named: Mapping[int, Chip], times: Sequence[int]
) -> schemas.UsageRow:
    used = configs.get(row.config or 0)
    return schemas.UsageRow(
        day=date.fromisoformat(row.day) if row.day else None,
        config=config(used, named.get(row.config or 0)),
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
    """Return the nearest-rank percentile of what is in order: a time that really occurred."""
    return ordered[-(-len(ordered) * rank // 100) - 1] if ordered else None


def _times(asked: OfUsage, configs: Collection[int]) -> Mapping[Key, list[int]]:
    """Return how long the newest loops of each config took that ended, in order, by config and day."""
    ended = LoopRecord.objects.filter(duration_ms__isnull=False, **_within("ended_at", asked))
    newest = ended.filter(config=OuterRef("pk")).order_by("-pk").values("pk")
    floors = ModelConfig.objects.filter(pk__in=configs).annotate(floor=Subquery(newest[SAMPLE - 1 : SAMPLE]))
    wanted = Q(pk__in=())
    for config_, floor in floors.values_list("pk", "floor"):
        wanted |= Q(config=config_, pk__gte=floor or 0)
    times: dict[Key, list[int]] = {}
    loops = ended.filter(wanted).annotate(day=Day("ended_at") if asked.by_day else Value(""))
    for key in loops.order_by("duration_ms").values_list("config_id", "day", "duration_ms"):
        times.setdefault((key[0], key[1]), []).append(key[2] or 0)
    return times


def _within(column: str, asked: OfUsage) -> dict[str, datetime]:
    """Return the condition for whole hours: the sums know no less."""
    within = {}
    if asked.since:
        within[f"{column}__gte"] = _hour(asked.since)
    if asked.until:
        within[f"{column}__lt"] = _hour(asked.until + HOUR - timedelta(microseconds=1))
    return within


def _hour(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)

"""List of compactions: filter, rows and filter options."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet
from django.db.models.functions import Coalesce, Least

from dashboard.compaction_analysis.queries.passes import CompactionEffect, listed, passes, shown
from dashboard.pages.compactions.params import COLUMNS, MENUS, Filters
from dashboard.query_conditions.box import parsed
from dashboard.query_conditions.conditions import compaction_condition
from dashboard.query_conditions.queries.compactions import AGENT, CONFIG
from dashboard.shared.queries.config_labels import Chip, chips
from dashboard.web.filters import Menu, config_options, options
from dashboard.web.time_range import time_range
from recorder.models import Compaction

AGENTS_MAX = 200
# A compaction dated in the future, or not at all, happened not later than the last event of its session.
AT = Least(Coalesce("started_at", "ended_at", "loop__session__last_event_at"), "loop__session__last_event_at")


@dataclass(frozen=True, slots=True)
class CompactionRow:
    """One compaction; root of the panel compactions/row."""

    found: CompactionEffect
    chip: Chip | None
    columns: tuple[str, ...]  # after the first

    @property
    def session_title(self) -> str:
        session = self.found.row.loop.session
        return session.title or session.session_id


def matching(project: int, filters: Filters, now: datetime) -> QuerySet[Compaction]:
    """Return the compactions that match the filters, unordered; `at` is their time."""
    rows = listed(project)
    if filters.q:
        rows = rows.filter(parsed(filters.q).on(compaction_condition, project, now, filters.reader))
    if filters.session:
        rows = rows.filter(loop__session=filters.session)
    return rows.annotate(at=AT).filter(**time_range(filters, now).within("at"))


def rows(
    project: int, pks: Collection[int], columns: tuple[str, ...] = COLUMNS.usual
) -> Mapping[int, CompactionRow]:
    """Return the rows of the compactions that belong to the project. Seven queries."""
    found = passes(shown(listed(project).filter(pk__in=pks).annotate(config=CONFIG)))
    config_of: dict[int, int] = {item.pk: item.row.config or 0 for item in found}  # type: ignore[attr-defined]
    named = chips({config for config in config_of.values() if config})
    return {item.pk: CompactionRow(item, named.get(config_of[item.pk]), columns) for item in found}


def sessions(pks: Collection[int]) -> Mapping[int, int]:
    """Return the session of each compaction. One query."""
    return dict(Compaction.objects.filter(pk__in=pks).values_list("pk", "loop__session_id"))


def menus(project: int, filters: Filters) -> Sequence[Menu]:
    """Return the configs and agents whose contexts were compacted. Three queries."""
    every = listed(project)
    configs = chips(
        {pk for pk in every.annotate(config=CONFIG).values_list("config", flat=True).distinct() if pk}
    )
    by_agent = every.annotate(agent=AGENT).exclude(agent="").order_by("agent")
    agents = by_agent.values_list("agent", flat=True).distinct()[:AGENTS_MAX]
    chosen = filters.chosen
    return MENUS.on(
        (
            Menu("Config", config_options("config", configs.values(), chosen.get("config", ()))),
            Menu("Agent", options("agent", agents, chosen.get("agent", ()))),
        )
    )

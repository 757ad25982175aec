"""List of compactions: filter, rows and filter options."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import BigIntegerField, Case, OuterRef, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce, Least, NullIf

from dashboard.compaction_analysis.queries.passes import Pass, listed, passes, shown
from dashboard.pages.compactions.params import Filters
from dashboard.shared.config_labels import Chip, chips
from dashboard.web.filters import Menu, config_options, options
from dashboard.web.time_range import time_range
from recorder.models import Compaction, ModelConfig, Turn

AGENTS_MAX = 200
# One that is dated in the future, or not at all, happened not later than the last event of its session.
AT = Least(Coalesce("started_at", "ended_at", "loop__session__last_event_at"), "loop__session__last_event_at")
_BEFORE = Turn.objects.filter(loop=OuterRef("loop"), state="done", end_event__lt=OuterRef("start_event"))
_BEFORE = _BEFORE.order_by("-ordinal")
_LAST = Turn.objects.filter(loop=OuterRef("loop__parent"), config__isnull=False).order_by("-ordinal")
# The config of the turn in which, or after which, a context was compacted. A compaction loop has no config of
# its own: that of the last turn of the loop that it shortened counts.
CONFIG = Coalesce(
    "turn__config",
    Case(When(loop__has_switched=True, then=Subquery(_BEFORE.values("config")[:1]))),
    "loop__config",
    Case(When(loop__parent__has_switched=True, then=Subquery(_LAST.values("config")[:1]))),
    "loop__parent__config",
    output_field=BigIntegerField(),
)
_NONE = Value("")  # the agent of a turn that the agent of the loop's start answered
AGENT = Case(
    When(turn__isnull=False, then=Coalesce(NullIf("turn__agent_id", _NONE), "loop__agent_id")),
    When(
        loop__has_switched=True,
        then=Coalesce(NullIf(Subquery(_BEFORE.values("agent_id")[:1]), _NONE), "loop__agent_id"),
    ),
    default="loop__agent_id",
)


@dataclass(frozen=True, slots=True)
class Row:
    """One compaction; root of the panel compactions/row."""

    found: Pass
    chip: Chip | None

    @property
    def session_title(self) -> str:
        session = self.found.row.loop.session
        return session.title or session.session_id


def matching(project: int, filters: Filters, now: datetime) -> QuerySet[Compaction]:
    """Return the compactions that match the filters, unordered."""
    rows = listed(project)
    if filters.config:
        wanted = ModelConfig.objects.filter(project=project, key__in=filters.config)
        rows = rows.annotate(config=CONFIG).filter(config__in=wanted.values("pk"))
    if filters.agent:
        rows = rows.annotate(agent=AGENT).filter(agent__in=filters.agent)
    if filters.session:
        rows = rows.filter(loop__session=filters.session)
    within = time_range(filters, now).within("at")
    return rows.annotate(at=AT).filter(**within) if within else rows


def rows(project: int, pks: Collection[int]) -> Mapping[int, Row]:
    """Return the rows of the compactions that belong to the project. Seven queries."""
    found = passes(shown(listed(project).filter(pk__in=pks).annotate(config=CONFIG)))
    config_of: dict[int, int] = {item.pk: item.row.config or 0 for item in found}  # type: ignore[attr-defined]
    named = chips({config for config in config_of.values() if config})
    return {item.pk: Row(item, named.get(config_of[item.pk])) for item in found}


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
    return (
        Menu("Config", config_options("config", configs.values(), filters.config)),
        Menu("Agent", options("agent", agents, filters.agent)),
    )

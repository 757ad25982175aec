"""List of compactions: filter, rows and filter options."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet
from django.db.models.functions import Coalesce

from dashboard.compaction_analysis.queries.passes import Pass, listed, passes, shown
from dashboard.pages.compactions.params import Filters
from dashboard.shared.config_labels import Chip, chips
from dashboard.web.query_params import start
from recorder.models import Compaction, LoopRecord, ModelConfig

AGENTS_MAX = 200
# A compaction loop has no config of its own: the config of the loop that it shortened counts.
CONFIG = Coalesce("loop__config", "loop__parent__config")


@dataclass(frozen=True, slots=True)
class Row:
    """One compaction; root of the panel compactions/row."""

    found: Pass
    chip: Chip | None

    @property
    def session_title(self) -> str:
        session = self.found.row.loop.session
        return session.title or session.session_id


@dataclass(frozen=True, slots=True)
class Options:
    """Filter options."""

    configs: Sequence[Chip]
    agents: Sequence[str]


def matching(project: int, filters: Filters, now: datetime) -> QuerySet[Compaction]:
    """Return the compactions that match the filters, unordered."""
    rows = listed(project)
    if filters.config:
        wanted = ModelConfig.objects.filter(project=project, key=filters.config)
        rows = rows.annotate(config=CONFIG).filter(config__in=wanted.values("pk"))
    if filters.agent:
        rows = rows.filter(loop__agent_id=filters.agent)
    if filters.session:
        rows = rows.filter(loop__session=filters.session)
    since = start(filters.since, now)
    return rows.annotate(at=Coalesce("started_at", "ended_at")).filter(at__gte=since) if since else rows


def rows(project: int, pks: Collection[int]) -> Mapping[int, Row]:
    """Return the rows of the compactions that belong to the project. Seven queries."""
    found = passes(shown(listed(project).filter(pk__in=pks)))
    named = chips({item.base.config_id for item in found if item.base.config_id})
    return {item.pk: Row(item, named.get(item.base.config_id or 0)) for item in found}


def sessions(pks: Collection[int]) -> Mapping[int, int]:
    """Return the session of each compaction. One query."""
    return dict(Compaction.objects.filter(pk__in=pks).values_list("pk", "loop__session_id"))


def options(project: int) -> Options:
    """Return the configs and agents whose contexts were compacted. Three queries."""
    every = listed(project)
    configs = chips(
        {pk for pk in every.annotate(config=CONFIG).values_list("config", flat=True).distinct() if pk}
    )
    loops = LoopRecord.objects.filter(compaction_records__in=every).exclude(agent_id="")
    agents = loops.order_by("agent_id").values_list("agent_id", flat=True).distinct()[:AGENTS_MAX]
    return Options(sorted(configs.values(), key=lambda chip: chip.label), list(agents))

"""The list of compactions: which rows a page holds, and what they say."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet
from django.db.models.functions import Coalesce

from dashboard.chips import Chip, chips
from dashboard.compactions.filters import Filters
from dashboard.passes.queries.passes import Pass, listed, passes, shown
from recorder.models import Compaction, LoopRecord, ModelConfig

PAGE = 50
COUNT_MAX = 10_000
AGENTS_MAX = 200
CONFIG = Coalesce(
    "loop__config", "loop__parent__config"
)  # a pass on its own has none: it is that of what it shortened


@dataclass(frozen=True, slots=True)
class Listing:
    """One page of the list; links are query strings, "" at an end."""

    pks: tuple[int, ...]
    newest: int  # the last one recorded; later ones wait behind the strip
    total: int
    newer: str
    older: str

    @property
    def total_text(self) -> str:
        return f"{COUNT_MAX:,}+" if self.total > COUNT_MAX else f"{self.total:,}"


@dataclass(frozen=True, slots=True)
class Row:
    """One pass; root of the panel compactions/row."""

    found: Pass
    chip: Chip | None

    @property
    def session_title(self) -> str:
        session = self.found.row.loop.session
        return session.title or session.session_id


@dataclass(frozen=True, slots=True)
class Options:
    """What can be chosen."""

    configs: Sequence[Chip]
    agents: Sequence[str]


def listing(project: int, filters: Filters, now: datetime) -> Listing:
    """Return a page of the list. Three queries."""
    newest = listed(project).order_by("-pk").values_list("pk", flat=True).first() or 0
    wanted = matching(project, filters, now)
    if filters.after:
        found = list(
            wanted.filter(pk__gt=filters.after).order_by("pk").values_list("pk", flat=True)[: PAGE + 1]
        )
        on_page, has_newer, has_older = found[:PAGE][::-1], len(found) > PAGE, True
    else:
        older = wanted.filter(pk__lt=filters.before) if filters.before else wanted
        found = list(older.order_by("-pk").values_list("pk", flat=True)[: PAGE + 1])
        on_page, has_newer, has_older = found[:PAGE], bool(filters.before), len(found) > PAGE
    return Listing(
        pks=tuple(on_page),
        newest=newest,
        total=wanted.order_by()[: COUNT_MAX + 1].count(),
        newer=filters.but(after=on_page[0]) if has_newer and on_page else "",
        older=filters.but(before=on_page[-1]) if has_older and on_page else "",
    )


def matching(project: int, filters: Filters, now: datetime) -> QuerySet[Compaction]:
    """Return the passes that are asked for, in no order."""
    rows = listed(project)
    if filters.config:
        wanted = ModelConfig.objects.filter(project=project, key=filters.config)
        rows = rows.annotate(config=CONFIG).filter(config__in=wanted.values("pk"))
    if filters.agent:
        rows = rows.filter(loop__agent_id=filters.agent)
    if filters.session:
        rows = rows.filter(loop__session=filters.session)
    start = filters.start(now)
    return rows.annotate(at=Coalesce("started_at", "ended_at")).filter(at__gte=start) if start else rows


def fresh(project: int, filters: Filters, newest: int, now: datetime) -> int:
    """Return how many passes of the list are newer than the newest that the page knows. One query."""
    return matching(project, filters, now).filter(pk__gt=newest)[: COUNT_MAX + 1].count()


def rows(project: int, pks: Collection[int]) -> Mapping[int, Row]:
    """Return the rows of those passes that are the project's. Seven queries."""
    found = passes(shown(listed(project).filter(pk__in=pks)))
    named = chips({each.base.config_id for each in found if each.base.config_id})
    return {each.pk: Row(each, named.get(each.base.config_id or 0)) for each in found}


def sessions(pks: Collection[int]) -> frozenset[int]:
    """Return the sessions of passes. One query."""
    return frozenset(Compaction.objects.filter(pk__in=pks).values_list("loop__session_id", flat=True))


def options(project: int) -> Options:
    """Return the configs and agents whose contexts were compacted. Three queries."""
    every = listed(project)
    configs = chips(
        {pk for pk in every.annotate(config=CONFIG).values_list("config", flat=True).distinct() if pk}
    )
    loops = LoopRecord.objects.filter(compaction_records__in=every).exclude(agent_id="")
    agents = loops.order_by("agent_id").values_list("agent_id", flat=True).distinct()[:AGENTS_MAX]
    return Options(sorted(configs.values(), key=lambda chip: chip.label), list(agents))

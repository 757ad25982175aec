"""Database queries of the insights page: insights with their evidence, and the state of consolidation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models import Q, QuerySet

from dashboard.pages.insights import advice
from dashboard.pages.insights.params import KINDS, InsightsParams
from dashboard.web import links
from dashboard.web.filters import Menu, choices, options
from recorder.core.content.text import clean
from recorder.insights.store import REPEATED
from recorder.models import DailyJob, Insight, InsightEvidence, LoopRecord, Project
from recorder.operations.scheduler import CONSOLIDATE

AGENTS_MAX = 200
EVIDENCE = 8  # loops of one insight that are shown
LOOK = {"procedure": "route", "solution": "wrench", "fact": "brain"}


@dataclass(frozen=True, slots=True)
class Evidence:
    """One loop that supports an insight, with its events. `title` is "" when the loop was deleted."""

    title: str
    url: str
    at: datetime | None
    times: int
    worked: int
    text: str
    events: Sequence[tuple[str, str]]  # label and link


@dataclass(frozen=True, slots=True)
class InsightRow:
    """One insight."""

    pk: int
    kind: str
    word: str
    icon: str
    agent_id: str
    steps: Sequence[str]
    about: str
    text: str
    is_changed: bool
    is_demo: bool
    times: int
    worked: int
    loops: int
    median_ms: int | None
    first_at: datetime
    last_at: datetime
    dismissed_at: datetime | None
    dismissed_by: str
    evidence: Sequence[Evidence] = ()

    @property
    def share(self) -> float | None:
        return None if self.kind == "fact" else self.worked / max(self.times, 1)

    @property
    def line(self) -> str:
        return advice.line(self.kind, self.times, self.worked, self.loops)

    @property
    def more(self) -> int:
        return max(0, self.loops - len(self.evidence))


@dataclass(frozen=True, slots=True)
class Runs:
    """Last successful run and next run of consolidation."""

    at: str  # every day, UTC
    done_at: datetime | None
    state: str  # "" | requested | running | failed
    try_at: datetime | None


def matching(project: int, params: InsightsParams) -> QuerySet[Insight]:
    """Return the insights that match the parameters, unordered."""
    worth = Q(kind="procedure", times__gte=REPEATED, is_part=False) | Q(kind="solution", worked__gt=0)
    rows = Insight.objects.filter(worth | Q(kind="fact"), project=project)
    rows = rows.filter(dismissed_at__isnull=not params.dismissed)
    if params.kind:
        rows = rows.filter(kind=params.kind)
    return rows.filter(agent_id__in=params.agent) if params.agent else rows


def rows(project: Project, pks: Sequence[int]) -> Sequence[InsightRow]:
    """Return insights with their evidence. Three queries."""
    insights = Insight.objects.filter(project=project).in_bulk(pks)
    drawn = [_row(insights[pk]) for pk in pks if pk in insights]
    evidence = _evidence(project, drawn)
    return [_with_evidence(row, evidence.get(row.pk, [])) for row in drawn]


def undoable(project: int, params: InsightsParams) -> InsightRow | None:
    """Return the insight that was just dismissed or restored. One query at most."""
    if params.undo is None:
        return None
    moved = Insight.objects.filter(project=project, pk=params.undo, dismissed_at__isnull=params.dismissed)
    row = moved.first()
    return _row(row) if row else None


def menus(project: int, params: InsightsParams) -> Sequence[Menu]:
    """Return the kinds, and the agents that have insights of any kind. One query."""
    rows = matching(project, replace(params, kind="", agent=())).exclude(agent_id="").order_by("agent_id")
    agents = rows.values_list("agent_id", flat=True).distinct()[:AGENTS_MAX]
    return (
        Menu("Kind", choices("kind", KINDS, (params.kind,)), is_single=True),
        Menu("Agent", options("agent", agents, params.agent)),
    )


def runs(now: datetime) -> Runs:
    """Return the runs of consolidation. One query."""
    at = f"{CONSOLIDATE.at:%H:%M}"
    row = DailyJob.objects.filter(name=CONSOLIDATE.name).first()
    if row is None:
        return Runs(at, None, "", None)
    if row.held_until and row.held_until > now:
        state = "running"
    elif row.try_at and row.try_at > now:
        state = "failed"
    else:
        state = "requested" if row.requested_at else ""
    return Runs(at, row.done_at if row.begun_at else None, state, row.try_at)


def _row(row: Insight) -> InsightRow:
    return InsightRow(
        pk=row.pk,
        kind=row.kind,
        word=str(row.get_kind_display()),
        icon=LOOK[row.kind],
        agent_id=clean(row.agent_id),
        steps=[clean(step) for step in row.steps],
        about=clean(row.about),
        text=clean(row.statement),
        is_changed=row.is_changed,
        is_demo=row.is_demo,
        times=row.times,
        worked=row.worked,
        loops=row.loops,
        median_ms=row.median_ms,
        first_at=row.first_at,
        last_at=row.last_at,
        dismissed_at=row.dismissed_at,
        dismissed_by=row.dismissed_by,
    )


def _with_evidence(row: InsightRow, evidence: Sequence[Evidence]) -> InsightRow:
    """Return the row with its evidence; the text of an error is the latest one."""
    text = next((each.text for each in evidence if each.text), row.text)
    return replace(row, evidence=evidence, text=text)


def _evidence(project: Project, rows: Collection[InsightRow]) -> Mapping[int, list[Evidence]]:
    kinds = {row.pk: row.kind for row in rows}
    kept: dict[int, list[InsightEvidence]] = defaultdict(list)
    for evidence in InsightEvidence.objects.filter(insight__in=kinds).order_by("-loop"):
        if len(kept[evidence.insight_id]) < EVIDENCE:
            kept[evidence.insight_id].append(evidence)
    loops = LoopRecord.objects.filter(pk__in={evidence.loop for some in kept.values() for evidence in some})
    mine = loops.filter(session__project=project).select_related("session")
    known = {loop.pk: loop for loop in mine.only("started_at", "session__title", "session__session_id")}
    return {
        pk: [_shows(project.slug, kinds[pk], evidence, known.get(evidence.loop)) for evidence in some]
        for pk, some in kept.items()
    }


def _shows(slug: str, kind: str, evidence: InsightEvidence, loop: LoopRecord | None) -> Evidence:
    words = {"procedure": ["first call"], "solution": ["the error", "retry"]}.get(kind)
    named = zip(words or [f"event {number}" for number in range(1, 11)], evidence.events, strict=False)
    return Evidence(
        title=clean(loop.session.title or loop.session.session_id) if loop else "",
        url=links.loop(slug, loop.session_id, loop.pk) if loop else "",
        at=loop.started_at if loop else None,
        times=evidence.times,
        worked=evidence.worked,
        text=clean(evidence.text),
        events=[(word, links.event(slug, event)) for word, event in named] if loop else [],
    )

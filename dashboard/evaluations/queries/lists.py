"""The list of evaluations: which rows a page holds, and what they say."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, OuterRef, QuerySet

from dashboard import links
from dashboard.chips import Chip, chips
from dashboard.evaluations.filters import VERDICTS, Filters
from dashboard.evaluations.queries.groups import Branch, Group, groups
from dashboard.evaluations.steps import MINUS
from dashboard.formats import NONE, money
from dashboard.money import Cost
from recorder.models import LoopRecord, ModelConfig, ParallelGroupRecord

PAGE = 50
COUNT_MAX = 10_000


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
class Option:
    """A config to choose."""

    key: str
    label: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class Row:
    """One evaluation; root of the panel evaluations/row."""

    pk: int
    url: str
    title: str
    session_title: str
    state: str
    verdict: str
    verdict_words: str
    branches: Sequence[Branch]
    winner: Branch | None
    total: Cost
    overhead: float | None
    margin: str
    at: datetime | None
    ended_at: datetime | None


def listing(project: int, filters: Filters, now: datetime) -> Listing:
    """Return a page of the list. Four queries at most."""
    newest = of_project(project).order_by("-pk").values_list("pk", flat=True).first() or 0
    wanted = matching(project, filters, now)
    if filters.after:
        found = list(
            wanted.filter(pk__gt=filters.after).order_by("pk").values_list("pk", flat=True)[: PAGE + 1]
        )
        shown, has_newer, has_older = found[:PAGE][::-1], len(found) > PAGE, True
    else:
        older = wanted.filter(pk__lt=filters.before) if filters.before else wanted
        found = list(older.order_by("-pk").values_list("pk", flat=True)[: PAGE + 1])
        shown, has_newer, has_older = found[:PAGE], bool(filters.before), len(found) > PAGE
    return Listing(
        pks=tuple(shown),
        newest=newest,
        total=wanted.order_by()[: COUNT_MAX + 1].count(),
        newer=filters.but(after=shown[0]) if has_newer and shown else "",
        older=filters.but(before=shown[-1]) if has_older and shown else "",
    )


def of_project(project: int) -> QuerySet[ParallelGroupRecord]:
    return ParallelGroupRecord.objects.filter(session__project=project)


def matching(project: int, filters: Filters, now: datetime) -> QuerySet[ParallelGroupRecord]:
    """Return the evaluations that are asked for, in no order."""
    rows = of_project(project)
    branches = LoopRecord.objects.filter(group=OuterRef("pk"))
    for key in filters.config:
        rows = rows.filter(Exists(branches.filter(config__key=key)))
    if filters.winner:
        rows = rows.filter(Exists(branches.filter(config__key=filters.winner, is_selected=True)))
    if filters.verdict:
        rows = rows.filter(verdict=filters.verdict)
    if filters.session:
        rows = rows.filter(session=filters.session)
    start = filters.start(now)
    return rows.filter(started_at__gte=start) if start else rows


def chosen(options: Sequence[Chip], key: str) -> Sequence[Option]:
    """Return the options of a menu, one of them chosen or none."""
    return [Option(chip.key, chip.label, chip.key == key) for chip in options]


def options(project: int) -> Sequence[Chip]:
    """Return the configs that took part in evaluations. Two queries."""
    used = LoopRecord.objects.filter(config=OuterRef("pk"), group__isnull=False)
    found = (
        ModelConfig.objects.filter(Exists(used), project=project).order_by("pk").values_list("pk", flat=True)
    )
    named = chips(list(found))
    return _by_label(named)


def _by_label(named: Mapping[int, Chip]) -> Sequence[Chip]:
    return sorted(named.values(), key=lambda chip: chip.label)


def fresh(project: int, filters: Filters, newest: int, now: datetime) -> int:
    """Return how many evaluations of the list are newer than the newest that the page knows. One query."""
    return matching(project, filters, now).filter(pk__gt=newest)[: COUNT_MAX + 1].count()


def sessions(pks: Collection[int]) -> frozenset[int]:
    """Return the sessions of evaluations. One query."""
    rows = ParallelGroupRecord.objects.filter(pk__in=pks)
    return frozenset(rows.values_list("session_id", flat=True))


def rows(project: int, pks: Collection[int]) -> Mapping[int, Row]:
    """Return the rows of those evaluations that are the project's. Three queries."""
    return {pk: _row(group) for pk, group in groups(pks).items() if group.project.pk == project}


def _margin(group: Group) -> str:
    """Return what the winner cost more, or less, than the cheapest other branch that ended well."""
    winner = group.winner
    others = [each.loop for each in group.branches if each is not winner and each.state == "completed"]
    known = [loop.cost_nano for loop in others if loop.cost_nano is not None and not loop.unpriced]
    if winner is None or winner.loop.cost_nano is None or winner.loop.unpriced or not known:
        return NONE
    more = winner.loop.cost_nano - min(known)
    return f"{'+' if more >= 0 else MINUS}{money(abs(more))}"


def _row(group: Group) -> Row:
    record = group.record
    return Row(
        pk=record.pk,
        url=links.evaluation(group.project.slug, record.pk),
        title=group.title,
        session_title=group.session.title or group.session.session_id,
        state=record.status,
        verdict=record.verdict,
        verdict_words=VERDICTS.get(record.verdict, record.verdict),
        branches=group.branches,
        winner=group.winner,
        total=group.totals.total,
        overhead=group.totals.overhead_ratio,
        margin=_margin(group),
        at=record.started_at or record.ended_at,
        ended_at=None if group.is_running else record.ended_at,
    )

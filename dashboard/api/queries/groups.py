"""Parallel groups, as items of the read API."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from django.db.models import QuerySet

from dashboard.api import schemas
from dashboard.api.params import OfSession
from dashboard.api.queries.keyset import by_id
from dashboard.shared.config_labels import Chip, chips
from dashboard.shared.costs import group_totals, usd
from dashboard.shared.session_json.queries.loops import duration_ms
from dashboard.shared.session_json.usage import config, spent, usage
from dashboard.web import links
from recorder.core.handlers.verdict import Verdict
from recorder.models import LoopRecord, ParallelGroupRecord, Project


def groups(project: Project, asked: OfSession) -> schemas.Groups:
    """Return a page of groups."""
    rows = ParallelGroupRecord.objects.filter(session__project=project)
    if asked.session_id is not None:
        rows = rows.filter(session__session_id=asked.session_id)
    page = by_id(rows, asked)
    shown = ParallelGroupRecord.objects.filter(pk__in=[row.pk for row in page.rows])
    return schemas.Groups(items=_items(project, shown), next=page.next, total=page.total)


def group(project: Project, pk: int) -> schemas.GroupItem | None:
    """Return one group."""
    rows = ParallelGroupRecord.objects.filter(session__project=project, pk=pk)
    return next(iter(_items(project, rows)), None)


@dataclass(frozen=True, slots=True)
class _Around:
    """What stands around groups."""

    branches: Mapping[int, list[LoopRecord]]
    chips: Mapping[int, Chip]


def _items(project: Project, rows: QuerySet[ParallelGroupRecord]) -> list[schemas.GroupItem]:
    found = list(rows.select_related("session", "judge").order_by("pk"))
    branches: dict[int, list[LoopRecord]] = defaultdict(list)
    order = ("branch_index", "pk")
    for loop in (
        LoopRecord.objects.filter(group__in=rows.values("pk")).select_related("config").order_by(*order)
    ):
        branches[loop.group_id or 0].append(loop)
    used = {loop.config_id for loops in branches.values() for loop in loops if loop.config_id is not None}
    around = _Around(branches, chips(used))
    return [_item(project, row, around) for row in found]


def _item(project: Project, row: ParallelGroupRecord, around: _Around) -> schemas.GroupItem:
    ended = row.status == "completed"
    branches = around.branches.get(row.pk, [])
    totals = group_totals(branches, row.judge, row)
    return schemas.GroupItem(
        id=row.pk,
        session_id=row.session.session_id,
        status=row.status,
        branches=[_branch(loop, around.chips) for loop in branches],
        selected_loop_id=row.selected_loop_id or None,
        selected_config_index=row.selected_config_index,
        verdict=cast("Verdict", row.verdict),
        judge=None if row.judge is None else schemas.Judge(loop=row.judge.pk, **spent(row.judge)),
        evaluation_usage=usage(row) if ended else None,
        total_cost_usd=usd(totals.total.cost_nano),
        unpriced=totals.total.unpriced > 0,
        overhead_ratio=totals.overhead_ratio,
        started_at=row.started_at,
        ended_at=row.ended_at,
        url=links.evaluation(project.slug, row.pk),
    )


def _branch(loop: LoopRecord, known: Mapping[int, Chip]) -> schemas.Branch:
    return schemas.Branch(
        loop=loop.pk,
        config_index=loop.branch_index,
        config=config(loop.config, known.get(loop.config_id or 0)),
        is_selected=loop.is_selected,
        **spent(loop),
        duration_ms=duration_ms(loop.started_at, loop.ended_at),
        turns=loop.turns,
        tool_calls=loop.tool_calls,
        errors=loop.errors,
    )

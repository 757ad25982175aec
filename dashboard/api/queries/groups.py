"""The list of parallel groups, and one group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from django.db.models import QuerySet

from dashboard.api import schemas
from dashboard.api.params import OfSession
from dashboard.api.queries.list_endpoint import ListEndpoint, by_id, filtered
from dashboard.shared.config_labels import Chip, chips
from dashboard.shared.costs import group_totals, usd
from dashboard.shared.session_json.queries.loops import duration_ms
from dashboard.shared.session_json.usage import config, usage, usage_and_cost
from dashboard.shared.session_state import status_of_group
from dashboard.web import links
from recorder.core.handlers.verdict import Verdict
from recorder.models import LoopRecord, ParallelGroupRecord, Project


def group(project: Project, pk: int) -> schemas.GroupItem | None:
    """Return one group; None when the project has no group with this id."""
    rows = ParallelGroupRecord.objects.filter(session__project=project, pk=pk)
    return next(iter(_items(project, rows)), None)


@dataclass(frozen=True, slots=True)
class _Related:
    """Branches by group and chips by config, read once for all groups of a page."""

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
    related = _Related(branches, chips(used))
    return [_item(project, row, related) for row in found]


def _item(project: Project, row: ParallelGroupRecord, related: _Related) -> schemas.GroupItem:
    ended = row.status == "completed"
    branches = related.branches.get(row.pk, [])
    totals = group_totals(branches, row.judge, row)
    return schemas.GroupItem(
        id=row.pk,
        session_id=row.session.session_id,
        status=row.status,
        stale=status_of_group(row) == "stale",
        branches=[_branch(loop, related.chips) for loop in branches],
        selected_loop_id=row.selected_loop_id or None,
        selected_config_index=row.selected_config_index,
        verdict=cast("Verdict", row.verdict),
        judge=None if row.judge is None else schemas.Judge(loop=row.judge.pk, **usage_and_cost(row.judge)),
        evaluation_usage=usage(row) if ended else None,
        total_cost_usd=usd(totals.total.cost_nano),
        unpriced=totals.total.unpriced > 0,
        overhead_ratio=totals.overhead_ratio,
        started_at=row.started_at,
        ended_at=row.ended_at,
        url=links.evaluation(project.slug, row.pk),
    )


def _branch(loop: LoopRecord, labels: Mapping[int, Chip]) -> schemas.Branch:
    return schemas.Branch(
        loop=loop.pk,
        config_index=loop.branch_index,
        config=config(loop.config, labels.get(loop.config_id or 0)),
        is_selected=loop.is_selected,
        **usage_and_cost(loop),
        duration_ms=duration_ms(loop.started_at, loop.ended_at),
        turns=loop.turns,
        tool_calls=loop.tool_calls,
        errors=loop.errors,
    )


def _rows(project: Project, params: OfSession) -> QuerySet[ParallelGroupRecord]:
    rows = ParallelGroupRecord.objects.filter(session__project=project)
    return filtered(rows, session__session_id=params.session_id)


def _page_items(
    project: Project, _: OfSession, rows: Sequence[ParallelGroupRecord]
) -> list[schemas.GroupItem]:
    return _items(project, ParallelGroupRecord.objects.filter(pk__in=[row.pk for row in rows]))


GROUPS = ListEndpoint(response=schemas.Groups, rows=_rows, cut=by_id, items=_page_items)

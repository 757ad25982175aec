"""The list of parallel groups, and one group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from django.db.models import QuerySet

from dashboard.api import schemas
from dashboard.api.params import OfSession
from dashboard.api.queries.list_endpoint import ListEndpoint, by_id, filtered
from dashboard.query_conditions.conditions import evaluation_condition
from dashboard.shared.queries.config_labels import Chip, chips
from dashboard.shared.queries.costs import group_totals, usd
from dashboard.shared.session_json.queries.loops import duration_ms
from dashboard.shared.session_json.queries.price_sources import inferred_in_loops
from dashboard.shared.session_json.usage import config, usage, usage_and_cost
from dashboard.shared.session_state import status_of_group
from dashboard.web import links
from recorder.core.records import Verdict
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
    inferred: Collection[int]  # loops with a call that was priced by its model alone

    def usage_and_cost(self, loop: LoopRecord, source: str) -> dict[str, Any]:
        """Return the usage and cost fields of a branch or judge."""
        return usage_and_cost(loop, source, is_inferred=loop.pk in self.inferred)


def _items(project: Project, rows: QuerySet[ParallelGroupRecord]) -> list[schemas.GroupItem]:
    groups = list(rows.select_related("session", "judge").order_by("pk"))
    branches: dict[int, list[LoopRecord]] = defaultdict(list)
    order = ("branch_index", "pk")
    for loop in (
        LoopRecord.objects.filter(group__in=rows.values("pk")).select_related("config").order_by(*order)
    ):
        branches[loop.group_id or 0].append(loop)
    used = {loop.config_id for loops in branches.values() for loop in loops if loop.config_id is not None}
    loops = [loop.pk for of_group in branches.values() for loop in of_group]
    judges = [row.judge_id for row in groups if row.judge_id]
    related = _Related(branches, chips(used), inferred_in_loops(project.pk, loops + judges))
    return [_item(project, row, related) for row in groups]


def _item(project: Project, row: ParallelGroupRecord, related: _Related) -> schemas.GroupItem:
    ended = row.status == "completed"
    branches = related.branches.get(row.pk, [])
    totals = group_totals(branches, row.judge, row)
    source, judge = row.session.source, row.judge
    return schemas.GroupItem(
        id=row.pk,
        session_id=row.session.session_id,
        status=row.status,
        stale=status_of_group(row) == "stale",
        branches=[_branch(loop, related, source) for loop in branches],
        selected_loop_id=row.selected_loop_id or None,
        selected_config_index=row.selected_config_index,
        verdict=cast("Verdict", row.verdict),
        judge=schemas.Judge(loop=judge.pk, **related.usage_and_cost(judge, source)) if judge else None,
        evaluation_usage=usage(row, source) if ended else None,
        total_cost_usd=usd(totals.total.cost_nano),
        unpriced=totals.total.unpriced > 0,
        overhead_ratio=totals.overhead_ratio,
        started_at=row.started_at,
        ended_at=row.ended_at,
        url=links.evaluation(project.slug, row.pk),
    )


def _branch(loop: LoopRecord, related: _Related, source: str) -> schemas.Branch:
    return schemas.Branch(
        loop=loop.pk,
        config_index=loop.branch_index,
        config=config(loop.config, related.chips.get(loop.config_id or 0)),
        is_selected=loop.is_selected,
        **related.usage_and_cost(loop, source),
        duration_ms=duration_ms(loop.started_at, loop.ended_at),
        turns=loop.turns,
        tool_calls=loop.tool_calls,
        errors=loop.errors,
    )


def _rows(project: Project, params: OfSession) -> QuerySet[ParallelGroupRecord]:
    matches = params.condition(evaluation_condition, project)
    rows = ParallelGroupRecord.objects.filter(matches, session__project=project)
    return filtered(rows, session__session_id=params.session_id)


def _page_items(
    project: Project, _: OfSession, rows: Sequence[ParallelGroupRecord]
) -> list[schemas.GroupItem]:
    return _items(project, ParallelGroupRecord.objects.filter(pk__in=[row.pk for row in rows]))


GROUPS = ListEndpoint(response=schemas.Groups, rows=_rows, cut=by_id, items=_page_items)

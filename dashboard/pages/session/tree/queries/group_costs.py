"""The costs of the parallel groups in the tree of a session."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from dashboard.shared.queries.costs import COST, NOTHING, Cost, group_totals
from recorder.models import LoopRecord, ParallelGroupRecord


@dataclass(frozen=True, slots=True)
class GroupCost:
    """The cost of branches and judge, each counted once; root of the panel session/tree/group-cost."""

    total: Cost
    has_cost: bool  # False until a model was called


NO_COST = GroupCost(NOTHING, has_cost=False)


def costs_of_groups(groups: Collection[int]) -> Mapping[int, GroupCost]:
    """Return the cost of each group so far. Two queries, none without groups."""
    if not groups:
        return {}
    branches: dict[int | None, list[LoopRecord]] = defaultdict(list)
    for loop in LoopRecord.objects.filter(group__in=groups).only("group_id", "is_selected", *COST):
        branches[loop.group_id].append(loop)
    judged = ("judge_id", *(f"judge__{name}" for name in COST))
    records = ParallelGroupRecord.objects.filter(pk__in=groups).select_related("judge").only(*COST, *judged)
    return {group.pk: _cost(group, branches[group.pk]) for group in records}


def branches_of(session: int) -> dict[int, int]:
    """Return the parallel group of each branch and judge of a session. Two queries."""
    loops = LoopRecord.objects.filter(session=session, group__isnull=False)
    groups = ParallelGroupRecord.objects.filter(session=session, judge__isnull=False)
    return dict(loops.values_list("pk", "group_id")) | dict(groups.values_list("judge_id", "pk"))


def _cost(group: ParallelGroupRecord, branches: Collection[LoopRecord]) -> GroupCost:
    total = group_totals(branches, group.judge, group).total
    return GroupCost(total, total.cost_nano is not None or total.unpriced > 0)

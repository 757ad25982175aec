"""What the parallel groups in the tree of a session cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from dashboard.shared.costs import COST, NOTHING, Cost, group_totals
from recorder.models import LoopRecord, ParallelGroupRecord


@dataclass(frozen=True, slots=True)
class BoxCost:
    """The branches and the judge, once; root of the panel session/tree/group-cost."""

    spent: Cost
    is_known: bool  # whether anything was asked of a model


UNKNOWN = BoxCost(NOTHING, is_known=False)


def box_costs(groups: Collection[int]) -> Mapping[int, BoxCost]:
    """Return what each group cost so far. Two queries, none without groups."""
    if not groups:
        return {}
    branches: dict[int | None, list[LoopRecord]] = defaultdict(list)
    for loop in LoopRecord.objects.filter(group__in=groups).only("group_id", "is_selected", *COST):
        branches[loop.group_id].append(loop)
    judged = ("judge_id", *(f"judge__{name}" for name in COST))
    found = ParallelGroupRecord.objects.filter(pk__in=groups).select_related("judge").only(*COST, *judged)
    return {group.pk: _cost(group, branches[group.pk]) for group in found}


def branches_of(session: int) -> dict[int, int]:
    """Return the loops of a session that branch or judge, each with its group. Two queries."""
    loops = LoopRecord.objects.filter(session=session, group__isnull=False)
    groups = ParallelGroupRecord.objects.filter(session=session, judge__isnull=False)
    return dict(loops.values_list("pk", "group_id")) | dict(groups.values_list("judge_id", "pk"))


def _cost(group: ParallelGroupRecord, branches: Collection[LoopRecord]) -> BoxCost:
    spent = group_totals(branches, group.judge, group).total
    return BoxCost(spent, spent.cost_nano is not None or spent.unpriced > 0)

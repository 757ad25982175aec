"""Costs for pages and the API: sums that count unpriced calls, costs with sub-agents, costs of groups.

Costs with sub-agents: each level of links to sub-agents is one query, so a tree of depth d takes d queries
(at most DEEPEST). Invariant: a record that is reachable in several ways is counted once, also in cycles.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol

from django.db.models import QuerySet

from dashboard.shared.compiled_query import compiled
from recorder.core.costs.billing import merge_cost_sources
from recorder.core.spend import CostSource
from recorder.models import ChildLoopRef, LoopRecord, Session

COST = ("cost_nano", "unpriced", "cost_source")  # columns
DEEPEST = 200  # maximum depth of sub-agents


class HasCost(Protocol):
    """A record with a cost."""

    @property
    def cost_nano(self) -> int | None: ...
    @property
    def unpriced(self) -> int: ...
    @property
    def cost_source(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Cost:
    """A sum in nano-dollars; None when no part has a price. `unpriced` counts the calls left out."""

    cost_nano: int | None = None
    unpriced: int = 0
    cost_source: str = "none"

    def __add__(self, more: HasCost) -> Cost:
        """Add a record; without a price it only adds to `unpriced`."""
        unpriced = self.unpriced + more.unpriced
        if more.cost_nano is None:
            return Cost(self.cost_nano, unpriced, self.cost_source)
        return Cost((self.cost_nano or 0) + more.cost_nano, unpriced, _merge_sources(self, more))


NOTHING = Cost()
SOURCES = {
    "none": "unknown",
    "computed": "computed from tokens and prices",
    "reported": "reported by the runtime",
    "mixed": "reported by the runtime where available, else computed",
}


@dataclass(frozen=True, slots=True)
class GroupTotals:
    """Cost of a parallel group: its branches, and its judge once."""

    total: Cost
    winner: Cost | None

    @property
    def overhead_ratio(self) -> float | None:
        """Return (total - winner) / winner; None when a part has no price."""
        if self.winner is None or not self.winner.cost_nano or self.total.unpriced:
            return None
        return ((self.total.cost_nano or 0) - self.winner.cost_nano) / self.winner.cost_nano


def usd(nano: int | None) -> str | None:
    """Return the exact amount in dollars as text."""
    return None if nano is None else format(Decimal(nano).scaleb(-9).normalize() + 0, "f")


def words(record: HasCost) -> str:
    """Return the exact amount, its source and the number of unpriced calls as text."""
    parts = []
    if record.cost_nano is not None:
        parts.append(f"${usd(record.cost_nano)}, {SOURCES[record.cost_source]}")
    if record.unpriced:
        parts.append(f"{record.unpriced:,} {'call has' if record.unpriced == 1 else 'calls have'} no price")
    return "; ".join(parts)


def source_of(*, priced: int, reported: int) -> CostSource:
    """Return the source of a sum over `priced` calls, of which the runtime reported `reported`."""
    if not priced:
        return "none"
    if not reported:
        return "computed"
    return "reported" if reported == priced else "mixed"


def total(parts: Iterable[HasCost]) -> Cost:
    """Add up costs."""
    whole = NOTHING
    for part in parts:
        whole += part
    return whole


def group_totals(branches: Iterable[LoopRecord], judge: HasCost | None, evaluation: HasCost) -> GroupTotals:
    """Add up a group; without a recorded judge loop, the cost of `evaluation` itself is added."""
    loops = list(branches)
    winner = next((loop for loop in loops if loop.is_selected), None)
    return GroupTotals(
        total=total([*loops, evaluation if judge is None else judge]),
        winner=None if winner is None else NOTHING + winner,
    )


def sessions_with_sub_agents(sessions: Collection[Session]) -> Mapping[int, Cost]:
    """Return the cost of each session including all sessions below it, each counted once."""
    costs: dict[int, HasCost] = {session.pk: session for session in sessions}
    below = _spawned_below(costs)
    return {session.pk: total(costs[pk] for pk in _reachable(session.pk, below)) for session in sessions}


def spawned_by(session: int) -> set[int]:
    """Return all sessions below a session."""
    return _reachable(session, _spawned_below({session: NOTHING})) - {session}


def _spawned_below(costs: dict[int, HasCost]) -> dict[int, set[int]]:
    """Return the children of each session, and add them to `costs`. One query per level."""
    below: dict[int, set[int]] = {}
    frontier = set(costs)
    for _ in range(DEEPEST):
        fresh: set[int] = set()
        for child in _sessions_below(frontier):
            below.setdefault(child.parent.session_id if child.parent else 0, set()).add(child.pk)
            if child.pk not in costs:
                costs[child.pk] = child
                fresh.add(child.pk)
        if not fresh:
            break
        frontier = fresh
    return below


@compiled
def _sessions_below(sessions: Collection[int]) -> QuerySet[Session]:
    below = Session.objects.filter(parent__session__in_list=sessions).select_related("parent")
    return below.only(*COST, "parent__session")


def loops_with_sub_agents(loops: Collection[LoopRecord]) -> Mapping[int, Cost]:
    """Return the cost of each loop and of the sub-agents below it, in its session or in others."""
    costs: dict[int, HasCost] = {loop.pk: loop for loop in loops}
    below: dict[int, set[int]] = {}
    frontier = set(costs)
    for _ in range(DEEPEST):
        fresh = set()
        for above, pk in _links_to_sub_agents(frontier):
            if above and pk:
                below.setdefault(above, set()).add(pk)
                fresh.add(pk)
        frontier = fresh - set(costs)
        if not frontier:
            break
        costs |= {loop.pk: loop for loop in _costs(frontier)}
    return {loop.pk: total(costs[pk] for pk in _reachable(loop.pk, below)) for loop in loops}


@compiled
def _links_to_sub_agents(loops: Collection[int]) -> QuerySet[Any, tuple[int | None, int | None]]:
    """Select the links to sub-agents: by tool call, by the session's parent, by the loop's parent."""
    refs = ChildLoopRef.objects.filter(loop__in_list=loops, child__isnull=False)
    spawned = LoopRecord.objects.filter(session__parent__in_list=loops).values_list(
        "session__parent_id", "pk"
    )
    beside = LoopRecord.objects.filter(parent__in_list=loops, role="sub_agent").values_list("parent_id", "pk")
    return refs.values_list("loop_id", "child_id").union(spawned, beside)


@compiled
def _costs(loops: Collection[int]) -> QuerySet[LoopRecord]:
    return LoopRecord.objects.filter(pk__in_list=loops).only(*COST)


def _reachable(root: int, below: Mapping[int, set[int]]) -> set[int]:
    """Return `root` and everything below it; cycles are visited once."""
    reached, pending = {root}, [root]
    while pending:
        fresh = below.get(pending.pop(), set()) - reached
        reached |= fresh
        pending += fresh
    return reached


def _merge_sources(known: HasCost, more: HasCost) -> CostSource:
    words: dict[str, CostSource] = {"computed": "computed", "reported": "reported", "mixed": "mixed"}
    return merge_cost_sources(words.get(known.cost_source, "none"), words.get(more.cost_source, "none"))

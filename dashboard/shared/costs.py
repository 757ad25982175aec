"""Money as pages and the API say it: sums that know what is missing in them, with sub-agents, of groups."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol

from django.db.models import QuerySet

from dashboard.shared.compiled_query import compiled
from recorder.core.money.billing import merge_cost_sources
from recorder.core.records import CostSource
from recorder.models import ChildLoopRef, LoopRecord, Session

COST = ("cost_nano", "unpriced", "cost_source")  # columns
DEEPEST = 200  # sub-agents below each other that are followed


class Spent(Protocol):
    """Anything that carries a cost."""

    @property
    def cost_nano(self) -> int | None: ...
    @property
    def unpriced(self) -> int: ...
    @property
    def cost_source(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Cost:
    """A sum: None when nothing in it has a price; `unpriced` calls are left out of it."""

    cost_nano: int | None = None
    unpriced: int = 0
    cost_source: str = "none"

    def __add__(self, more: Spent) -> Cost:
        """Add one more; what has no price is counted and changes nothing else."""
        unpriced = self.unpriced + more.unpriced
        if more.cost_nano is None:
            return Cost(self.cost_nano, unpriced, self.cost_source)
        return Cost((self.cost_nano or 0) + more.cost_nano, unpriced, _merged(self, more))


NOTHING = Cost()
SOURCES = {
    "none": "unknown",
    "computed": "computed from tokens and prices",
    "reported": "reported by the runtime",
    "mixed": "reported by the runtime where it said so, else computed",
}


@dataclass(frozen=True, slots=True)
class GroupTotals:
    """What a parallel group cost: its branches, and its judge once."""

    total: Cost
    winner: Cost | None

    @property
    def overhead_ratio(self) -> float | None:
        """Return how much more was paid than for the winner alone; None when that is not wholly known."""
        if self.winner is None or not self.winner.cost_nano or self.total.unpriced:
            return None
        return ((self.total.cost_nano or 0) - self.winner.cost_nano) / self.winner.cost_nano


def usd(nano: int | None) -> str | None:
    """Return an amount in dollars, exactly."""
    return None if nano is None else format(Decimal(nano).scaleb(-9).normalize() + 0, "f")


def words(spent: Spent) -> str:
    """Say the exact amount, where it comes from and what is missing."""
    said = []
    if spent.cost_nano is not None:
        said.append(f"${usd(spent.cost_nano)}, {SOURCES[spent.cost_source]}")
    if spent.unpriced:
        said.append(f"{spent.unpriced:,} {'call has' if spent.unpriced == 1 else 'calls have'} no price")
    return "; ".join(said)


def source_of(*, priced: int, reported: int) -> CostSource:
    """Return where a sum of priced calls comes from, of which the runtime reported some."""
    if not priced:
        return "none"
    if not reported:
        return "computed"
    return "reported" if reported == priced else "mixed"


def total(parts: Iterable[Spent]) -> Cost:
    """Add up."""
    whole = NOTHING
    for part in parts:
        whole += part
    return whole


def group_totals(branches: Iterable[LoopRecord], judge: Spent | None, evaluation: Spent) -> GroupTotals:
    """Add up a group: `evaluation` is what the group itself carries when no judge's loop was recorded."""
    loops = list(branches)
    winner = next((loop for loop in loops if loop.is_selected), None)
    return GroupTotals(
        total=total([*loops, evaluation if judge is None else judge]),
        winner=None if winner is None else NOTHING + winner,
    )


def sessions_with_sub_agents(sessions: Collection[Session]) -> Mapping[int, Cost]:
    """Return the cost of each session and of all that its loops spawned, each once."""
    costs: dict[int, Spent] = {session.pk: session for session in sessions}
    below = _spawned_below(costs)
    return {each.pk: total(costs[pk] for pk in _reached(each.pk, below)) for each in sessions}


def spawned_by(session: int) -> set[int]:
    """Return all sessions below a session."""
    return _reached(session, _spawned_below({session: NOTHING})) - {session}


def _spawned_below(costs: dict[int, Spent]) -> dict[int, set[int]]:
    """Return who is below whom, and put those below into `costs`. A query for each level."""
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
    found = Session.objects.filter(parent__session__in_list=sessions).select_related("parent")
    return found.only(*COST, "parent__session")


def loops_with_sub_agents(loops: Collection[LoopRecord]) -> Mapping[int, Cost]:
    """Return the cost of each loop and of the sub-agents below it, in its session or in others."""
    costs: dict[int, Spent] = {loop.pk: loop for loop in loops}
    below: dict[int, set[int]] = {}
    frontier = set(costs)
    for _ in range(DEEPEST):
        fresh = set()
        for above, pk in _spawned(frontier):
            if above and pk:
                below.setdefault(above, set()).add(pk)
                fresh.add(pk)
        frontier = fresh - set(costs)
        if not frontier:
            break
        costs |= {loop.pk: loop for loop in _costs(frontier)}
    return {loop.pk: total(costs[pk] for pk in _reached(loop.pk, below)) for loop in loops}


@compiled
def _spawned(loops: Collection[int]) -> QuerySet[Any, tuple[int | None, int | None]]:
    """Ask for the links to sub-agents: by a tool call, by a session of their own, by their parent."""
    refs = ChildLoopRef.objects.filter(loop__in_list=loops, child__isnull=False)
    spawned = LoopRecord.objects.filter(session__parent__in_list=loops).values_list(
        "session__parent_id", "pk"
    )
    beside = LoopRecord.objects.filter(parent__in_list=loops, role="sub_agent").values_list("parent_id", "pk")
    return refs.values_list("loop_id", "child_id").union(spawned, beside)


@compiled
def _costs(loops: Collection[int]) -> QuerySet[LoopRecord]:
    return LoopRecord.objects.filter(pk__in_list=loops).only(*COST)


def _reached(root: int, below: Mapping[int, set[int]]) -> set[int]:
    """Return `root` and everything below it; circles end."""
    seen, left = {root}, [root]
    while left:
        fresh = below.get(left.pop(), set()) - seen
        seen |= fresh
        left += fresh
    return seen


def _merged(known: Spent, more: Spent) -> CostSource:
    words: dict[str, CostSource] = {"computed": "computed", "reported": "reported", "mixed": "mixed"}
    return merge_cost_sources(words.get(known.cost_source, "none"), words.get(more.cost_source, "none"))

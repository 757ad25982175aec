"""The header of the loop pane: kind, state, position, config, usage and cost of a loop."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import QuerySet

from dashboard.pages.session.tree.queries.rows import OF_SESSION
from dashboard.pages.session.tree.queries.structure import Shape, ShapeOf
from dashboard.rendering.shared_page import is_shared
from dashboard.shared.compiled_query import compiled
from dashboard.shared.config_diff import Setting, settings, strip
from dashboard.shared.cost_breakdown import BROKEN_DOWN, Breakdown, breakdown
from dashboard.shared.loop_state import kind_of, state_of, title_of
from dashboard.shared.queries.config_labels import OF_LOOP, AnsweredBy, Chip, answered_by, chips_of
from dashboard.shared.session_state import end_of_loop
from dashboard.shared.usage_bar import COLUMNS, kinds
from dashboard.web import links
from recorder.models import LoopRecord

TITLE = ("loop_id", "title", "activity", "status")
LABELS = (
    *TITLE,
    *OF_LOOP,
    "continuation_kind",
    "role",
    "run",
    "outcome",
    "is_selected",
    "waiting",
)
COUNTED = (
    "turns",
    "events",
    "started_at",
    "ended_at",
    "last_event_at",
    "is_one_call",
    *COLUMNS,
    *BROKEN_DOWN,
)
RELATED = (
    "session__session_id",
    "session__project__slug",
    "session__compactions",
    *OF_SESSION,
    "config__snapshot",
    "config_inferred",
    "parent_loop_id",
)
BEFORE = (*(f"parent__{name}" for name in TITLE), "parent__config__snapshot")
SHOWN = (*LABELS, *COUNTED, *RELATED, *BEFORE)  # a whole row has 250 columns with its relations
WORDS = {"Default": "continues", "Rerun": "reruns", "Branch": "branches from", "Compaction": "compacts"}


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Another loop of the session."""

    url: str
    title: str


@dataclass(frozen=True, slots=True)
class AdjacentLoops:
    """The previous and the next loop in the tree."""

    previous: Neighbour | None
    next: Neighbour | None


@dataclass(frozen=True, slots=True)
class Head:
    """The header of a loop; root of the panel session/header/loop-head."""

    pk: int
    session_id: str
    loop_id: str
    agents: Sequence[str]  # the agent of the start, then in order of answers
    kind: str
    icon: str
    state: str
    title: str
    run: int
    position: int
    of: int
    relation: str
    parent: Neighbour | None
    parent_id: str  # of a loop that is not in the session
    adjacent: AdjacentLoops
    chips: Sequence[Chip]  # of its configs: that of its start, then in order of first answers
    is_inferred: bool
    settings: Sequence[Setting]
    strip: Sequence[Setting]
    tab: str
    url: str
    turns: int
    events: int
    started_at: datetime | None
    ended_at: datetime | None
    totals: LoopRecord

    @property
    def is_shared(self) -> bool:
        """Return whether the page is drawn for a share link."""
        return is_shared()

    @property
    def compactions(self) -> int:
        """Return the number of compactions in the session."""
        return self.totals.session.compactions

    @property
    def cost(self) -> Breakdown | None:
        """Return the cost breakdown of a loop that was billed as one call, else None."""
        return breakdown(self.totals) if self.totals.is_one_call else None

    @property
    def tokens(self) -> int:
        return sum(kind.count for kind in kinds(self.totals))


@dataclass(frozen=True, slots=True)
class Heads:
    """The query of the loop header for pages with this tab selected."""

    tab: str
    shape: ShapeOf = field(default=Shape, compare=False)

    def __call__(self, pks: Collection[int]) -> Mapping[int, Head]:
        return _heads(pks, self.tab, self.shape)


def _heads(pks: Collection[int], tab: str, shape: ShapeOf) -> Mapping[int, Head]:
    """Return the headers of loops.

    Three queries, one for loops with several configs or agents, and those of their sessions' shapes.
    """
    loops = _loops(pks)
    orders = {session: shape(session).order for session in {loop.session_id for loop in loops}}
    around = {pk for loop in loops for pk in _adjacent_ids(orders[loop.session_id], loop.pk)}
    neighbours = {loop.pk: loop for loop in _titles(around)}
    answered = answered_by(loops)
    named = chips_of(answered)
    return {
        loop.pk: _head(loop, orders[loop.session_id], neighbours, answered[loop.pk], named, tab)
        for loop in loops
    }


@compiled
def _loops(pks: Collection[int]) -> QuerySet[LoopRecord]:
    related = ("session__project", "config", "parent__config", "price")
    return LoopRecord.objects.filter(pk__in_list=pks).select_related(*related).only(*SHOWN)


@compiled
def _titles(pks: Collection[int]) -> QuerySet[LoopRecord]:
    return LoopRecord.objects.filter(pk__in_list=pks).only(*TITLE)


def _adjacent_ids(order: Sequence[int], pk: int) -> tuple[int, ...]:
    at = order.index(pk)
    return (*order[max(at - 1, 0) : at], *order[at + 1 : at + 2])


def _head(
    loop: LoopRecord,
    order: Sequence[int],
    neighbours: Mapping[int, LoopRecord],
    answered: AnsweredBy,
    named: Mapping[int, Chip],
    tab: str,
) -> Head:
    kind, icon = kind_of(loop)
    snapshot = loop.config.snapshot if loop.config else None
    before = loop.parent.config.snapshot if loop.parent and loop.parent.config else None
    fields = settings(snapshot, before)
    return Head(
        pk=loop.pk,
        session_id=loop.session.session_id,
        loop_id=loop.loop_id,
        agents=answered.agents,
        kind=kind,
        icon=icon,
        state=state_of(loop, is_waiting=loop.waiting > 0),
        title=title_of(loop),
        run=loop.run,
        position=order.index(loop.pk) + 1,
        of=len(order),
        relation=WORDS.get(loop.continuation_kind, "follows"),
        parent=_neighbour(loop, loop.parent),
        parent_id="" if loop.parent or loop.parent_loop_id == loop.loop_id else loop.parent_loop_id or "",
        adjacent=_adjacent(loop, order, neighbours),
        chips=answered.chips(named),
        is_inferred=loop.config_inferred,
        settings=fields,
        strip=strip(fields),
        tab=tab,
        url=links.loop(loop.session.project.slug, loop.session_id, loop.pk),
        turns=loop.turns,
        events=loop.events,
        started_at=loop.started_at,
        ended_at=end_of_loop(loop),
        totals=loop,
    )


def _adjacent(loop: LoopRecord, order: Sequence[int], neighbours: Mapping[int, LoopRecord]) -> AdjacentLoops:
    at = order.index(loop.pk)
    previous = neighbours.get(order[at - 1]) if at else None
    following = neighbours.get(order[at + 1]) if at + 1 < len(order) else None
    return AdjacentLoops(_neighbour(loop, previous), _neighbour(loop, following))


def _neighbour(loop: LoopRecord, other: LoopRecord | None) -> Neighbour | None:
    if other is None:
        return None
    return Neighbour(links.loop(loop.session.project.slug, loop.session_id, other.pk), title_of(other))

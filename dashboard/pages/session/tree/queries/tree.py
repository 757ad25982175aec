"""The panel of the loop tree: rows, parallel groups, and sub-agents in other sessions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from django.db.models import Q

from dashboard.pages.session.tree.layout import Mark, Node, What, window
from dashboard.pages.session.tree.queries.group_costs import NO_COST, GroupCost, costs_of_groups
from dashboard.pages.session.tree.queries.rows import LoopRow, rows
from dashboard.pages.session.tree.queries.structure import Shape, ShapeOf
from dashboard.pages.session.tree.queries.sub_agents import Ancestor, ChildRow, ancestors
from dashboard.shared.session_state import status_of_group
from dashboard.web import links
from recorder.models import LoopRecord, ParallelGroupRecord, Session

ROWS = 40  # rows of a window, twice what a screen shows; links lead to the other rows


@dataclass(frozen=True, slots=True)
class Box:
    """The header of a parallel group."""

    pk: int
    branches: int
    status: str
    words: str
    url: str  # of the evaluation
    cost: GroupCost

    @property
    def cost_id(self) -> str:
        return f"session-group-cost-{self.pk}"


@dataclass(frozen=True, slots=True)
class TreeStep:
    """A mark of the tree with the data that it draws."""

    mark: Mark
    what: What
    row: LoopRow | None = None
    child: ChildRow | None = None
    box: Box | None = None
    is_selected: bool = False

    @property
    def css(self) -> str:
        """Return the CSS class of the item."""
        if self.child or (self.row and self.row.kind == "Sub-agent"):
            return "is-child"
        if self.row and self.row.kind == "Judge":
            return "is-judge"
        return "is-parallel" if self.box else ""

    @property
    def node(self) -> Node:
        return self.mark.node

    @property
    def group_id(self) -> str:
        """Return the DOM id of the list of nodes below or inside."""
        where = "inside" if self.what == "box" else self.mark.where
        return f"tree-{self.node.kind}-{self.node.key}-{where}"

    @property
    def row_id(self) -> str:
        return f"session-loop-row-{self.node.key}"

    @property
    def has_children(self) -> bool:
        return self.mark.has_below or self.node.kind == "box"


@dataclass(frozen=True, slots=True)
class Tree:
    """The tree, or a window of a large tree; root of the panel session/tree/tree."""

    ancestors: Sequence[Ancestor]  # the sessions that spawned this one, the topmost first
    steps: Sequence[TreeStep]
    loops: int
    children: int
    earlier: int  # rows above the window
    later: int
    earlier_url: str
    later_url: str


@dataclass(frozen=True, slots=True)
class Trees:
    """The query of the panel for pages with loop `selected`; the window is around loop `at` if given."""

    selected: int
    at: int | None = None
    shape: ShapeOf = field(default=Shape, compare=False)

    def __call__(self, pks: Collection[int]) -> Mapping[int, Tree]:
        return {session: _tree(session, self.shape(session), self.selected, self.at) for session in pks}


def is_nested(session: int) -> bool:
    """Return whether a loop of this session is a sub-agent of another loop of it. One query."""
    here = LoopRecord.objects.filter(session=session)
    return here.filter(Q(role="sub_agent") | Q(spawned_by__loop__session=session)).exists()


def related(session: int) -> set[int]:
    """Return the sessions that spawned this one or were spawned by it. One query."""
    here = Session.objects.filter(pk=session)
    spawned = Session.objects.filter(parent__session=session)
    called = Session.objects.filter(loop_records__spawned_by__loop__session=session)
    spawners = Session.objects.filter(loop_records__spawned_sessions__in=here)
    # Three indexed reads in one: an OR over these joins would read every session.
    ids = spawned.values_list("pk", flat=True)
    every = ids.union(called.values_list("pk", flat=True), spawners.values_list("pk", flat=True))
    return set(every) - {session}


def _tree(session: int, shape: Shape, selected: int, at: int | None) -> Tree:
    centre = selected if at is None else at
    around = next((n for n, row in enumerate(shape.rows) if row.key == centre and row.kind == "loop"), 0)
    shown = window(shape.nodes, shape.rows, around, ROWS)
    nodes = [mark.node for mark in shown.marks if mark.what == "open"]
    loops = rows([node.key for node in nodes if node.kind == "loop"])
    child_rows = shape.children.rows([node.key for node in nodes if node.kind == "child"])
    costs = costs_of_groups([node.key for node in nodes if node.kind == "box"])
    boxes = {pk: _box(group, costs.get(pk, NO_COST)) for pk, group in shape.groups.items()}
    return Tree(
        ancestors(session),
        [_step(mark, loops, child_rows, boxes, selected) for mark in shown.marks],
        len(shape.order),
        len(shape.children.links),
        shown.earlier,
        shown.later,
        _link(shape, selected, shown.first - ROWS // 2) if shown.earlier else "",
        _link(shape, selected, shown.last + ROWS // 2) if shown.later else "",
    )


def _link(shape: Shape, selected: int, around: int) -> str:
    """Return the URL of the page with another window of its tree."""
    nearest = next((row.key for row in shape.rows[max(around, 0) :] if row.kind == "loop"), selected)
    return f"?tree={nearest}"


def _step(
    mark: Mark,
    drawn: Mapping[int, LoopRow],
    children: Mapping[int, ChildRow],
    boxes: Mapping[int, Box],
    selected: int,
) -> TreeStep:
    node = mark.node
    match node.kind:
        case "loop":
            return TreeStep(mark, mark.what, drawn.get(node.key), is_selected=node.key == selected)
        case "child":
            return TreeStep(mark, mark.what, child=children[node.key])
        case "box":
            return TreeStep(mark, mark.what, box=boxes[node.key])


def _box(group: ParallelGroupRecord, cost: GroupCost) -> Box:
    status = status_of_group(group)
    words = {"running": "running", "stale": "stale", "aborted": "no winner selected"}.get(status, "")
    if group.status == "completed" and not group.selected_loop_id:
        words = "no winner selected"
    url = links.evaluation(group.session.project.slug, group.pk)
    return Box(group.pk, len(group.loop_ids), status, words, url, cost)

"""The loop tree of a session, with its parallel groups and the children recorded in other sessions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from django.db.models import Q

from dashboard import links
from dashboard.loops.queries.children import Above, ChildRow, above, children
from dashboard.loops.queries.rows import LoopRow, rows
from dashboard.loops.tree import Mark, Node, planted, window
from dashboard.loops.tree import rows as rows_of
from recorder.models import LoopRecord, ParallelGroupRecord, Session

# Only what is drawn is read: whole rows of sessions and projects are wide.
GROUPED = ("judge_id", "loop_ids", "status", "selected_loop_id", "session__project__slug")
PLACED = ("pk", "parent_id", "group_id", "branch_index", "role", "continuation_kind")
ROWS = 100  # of a tree that are drawn; the others are a link away


@dataclass(frozen=True, slots=True)
class Box:
    """The head of a parallel group."""

    pk: int
    branches: int
    status: str
    words: str
    url: str  # of the evaluation


@dataclass(frozen=True, slots=True)
class Drawn:
    """A step of drawing the tree, and what it draws."""

    mark: Mark
    row: LoopRow | None = None
    child: ChildRow | None = None
    box: Box | None = None
    is_selected: bool = False

    @property
    def what(self) -> str:
        return self.mark.what

    @property
    def node(self) -> Node:
        return self.mark.node

    @property
    def group_id(self) -> str:
        """Return what the list of nodes below, or inside, is called."""
        where = "inside" if self.mark.what == "box" else self.mark.where
        return f"tree-{self.node.kind}-{self.node.key}-{where}"

    @property
    def row_id(self) -> str:
        return f"session-loop-row-{self.node.key}"

    @property
    def has_children(self) -> bool:
        return self.mark.has_below or self.node.kind == "box"


@dataclass(frozen=True, slots=True)
class Tree:
    """The tree, or of a large one a window; root of the panel session/tree."""

    above: Sequence[Above]  # the sessions that led to this one, the topmost first
    steps: Sequence[Drawn]
    loops: int
    children: int
    earlier: int  # rows above the window
    later: int
    earlier_url: str
    later_url: str


@dataclass(frozen=True, slots=True)
class Trees:
    """The query of the panel for pages on which this loop is selected, and this row of the tree looked at."""

    selected: int
    at: int | None = None

    def __call__(self, pks: Collection[int]) -> Mapping[int, Tree]:
        return trees(pks, self.selected, self.at)


def trees(sessions: Collection[int], selected: int = 0, at: int | None = None) -> Mapping[int, Tree]:
    """Return the trees of sessions. Eleven queries for the one of a page."""
    return {session: _Shape(session).drawn(selected, at) for session in sessions}


def orders(sessions: Collection[int]) -> Mapping[int, list[int]]:
    """Return each session's loops from top to bottom of its tree. Four queries for the one of a page."""
    return {session: _Shape(session).order for session in sessions}


def is_nested(session: int) -> bool:
    """Say whether a loop of this session is a sub-agent of another one of it. One query."""
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


class _Loop(NamedTuple):
    """What a loop's place depends on; of a large session it is read thousands of times."""

    id: int
    parent_id: int | None
    group_id: int | None
    branch_index: int | None
    role: str
    continuation_kind: str


class _Shape:
    """What stands where in the tree of one session."""

    def __init__(self, session: int) -> None:
        self.loops = [_Loop(*row) for row in _placed(session)]
        groups = ParallelGroupRecord.objects.filter(session=session).select_related("session__project")
        groups = groups.only(*GROUPED)
        self.groups = {group.pk: group for group in groups}
        judges = {group.judge_id: group.pk for group in self.groups.values() if group.judge_id}
        self._session = session
        self.children = children(session)
        self._nodes = planted(
            self.loops,
            judges=judges,
            called=self.children.called,
            children=self.children.below,
            deeper=self.children.deeper,
        )

    @cached_property
    def rows(self) -> Sequence[Node]:
        return list(rows_of(self._nodes))

    @property
    def order(self) -> list[int]:
        return [row.key for row in self.rows if row.kind == "loop"]

    def drawn(self, selected: int, at: int | None) -> Tree:
        place = selected if at is None else at
        around = next((n for n, row in enumerate(self.rows) if row.key == place and row.kind == "loop"), 0)
        shown = window(self._nodes, self.rows, around, ROWS)
        nodes = [mark.node for mark in shown.marks if mark.what == "open"]
        drawn = rows([node.key for node in nodes if node.kind == "loop"])
        found = self.children.rows([node.key for node in nodes if node.kind == "child"])
        return Tree(
            above(self._session),
            [_draw(mark, drawn, found, self.groups, selected) for mark in shown.marks],
            len(self.loops),
            len(self.children.found),
            shown.earlier,
            shown.later,
            self._link(selected, shown.first - ROWS // 2) if shown.earlier else "",
            self._link(selected, shown.last + ROWS // 2) if shown.later else "",
        )

    def _link(self, selected: int, around: int) -> str:
        """Return the same page with another window of its tree."""
        place = next((row.key for row in self.rows[max(around, 0) :] if row.kind == "loop"), selected)
        return f"?tree={place}"


def _placed(session: int) -> Iterable[tuple[Any, ...]]:
    return LoopRecord.objects.filter(session=session).order_by("pk").values_list(*PLACED).iterator(5_000)


def _draw(
    step: Mark,
    drawn: Mapping[int, LoopRow],
    children: Mapping[int, ChildRow],
    groups: Mapping[int, ParallelGroupRecord],
    selected: int,
) -> Drawn:
    node = step.node
    match node.kind:
        case "loop":
            return Drawn(step, row=drawn.get(node.key), is_selected=node.key == selected)
        case "child":
            return Drawn(step, child=children[node.key])
        case "box":
            return Drawn(step, box=_box(groups[node.key]))


def _box(group: ParallelGroupRecord) -> Box:
    words = {"running": "running", "aborted": "ended without a choice"}.get(group.status, "")
    if group.status == "completed" and not group.selected_loop_id:
        words = "ended without a choice"
    url = links.evaluation(group.session.project.slug, group.pk)
    return Box(group.pk, len(group.loop_ids), group.status, words, url)

"""The loop tree of a session, with its parallel groups and the children recorded in other sessions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple

from dashboard import links
from dashboard.chips import Chip, chips
from dashboard.loops.queries.rows import LoopRow, rows, state_of
from dashboard.loops.tree import Mark, Node, planted, window
from dashboard.loops.tree import rows as rows_of
from dashboard.money import COST
from recorder.models import ChildLoopRef, LoopRecord, ParallelGroupRecord, Session

_Children = tuple[Mapping[int, int], Mapping[int, Sequence[int]], Mapping[int, "ChildRow"]]
_Found = tuple[str, str, LoopRecord | None]  # session id, tool name, first loop
# Only what is drawn is read: whole rows of loops, sessions and projects together are 130 columns wide.
GROUPED = ("judge_id", "loop_ids", "status", "selected_loop_id", "session__project__slug")
CHILD = ("title", "agent_id", "agent_label", "config_id", "turns", "errors", "started_at", "ended_at")
STATE = ("status", "outcome", "is_selected", "role", "waiting")
OF = ("session__session_id", "session__title", "session__parent_id", "session__spawn_tool_name")
SPAWNED = (*CHILD, *STATE, *COST, *OF, "session__project__slug")
REFERRED = ("loop_id", "child_session_id", "tool_name", *(f"child__{name}" for name in SPAWNED))
PLACED = ("pk", "parent_id", "group_id", "branch_index", "role", "continuation_kind")
ROWS = 100  # of a tree that are drawn; the others are a link away


@dataclass(frozen=True, slots=True)
class ChildRow:
    """A sub-agent in another session; without `url` it was never recorded."""

    session_id: str
    tool_name: str
    url: str = ""
    title: str = ""
    state: str = ""
    agent: str = ""
    chip: Chip | None = None
    turns: int = 0
    errors: int = 0
    started_at: datetime | None = None
    ended_at: datetime | None = None
    spent: LoopRecord | None = None


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
        called, below, self.children = _children(session)
        self._nodes = planted(self.loops, judges=judges, called=called, children=below)

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
        return Tree(
            [_draw(mark, drawn, self.children, self.groups, selected) for mark in shown.marks],
            len(self.loops),
            len(self.children),
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


def _children(session: int) -> _Children:
    """Return who called the sub-agents of this session, and the children in other ones, by a key of ours."""
    called: dict[int, int] = {}
    below: dict[int, list[int]] = defaultdict(list)
    found: dict[int, _Found] = {}
    linked: set[int] = set()
    refs = ChildLoopRef.objects.filter(loop__session=session).select_related("child__session__project")
    refs = refs.only(*REFERRED)
    for ref in refs.order_by("pk"):
        if ref.child_id in linked:
            continue
        if ref.child is not None and ref.child.session_id == session:
            called[ref.child.pk] = ref.loop_id
        else:
            below[ref.loop_id].append(ref.pk)
            found[ref.pk] = (ref.child_session_id, ref.tool_name, ref.child)
        if ref.child_id is not None:
            linked.add(ref.child_id)
    for child in _spawned(session):
        if child.pk not in linked and child.session.parent_id is not None:
            below[child.session.parent_id].append(-child.pk)
            found[-child.pk] = (child.session.session_id, child.session.spawn_tool_name, child)
    return called, below, _child_rows(found)


def _spawned(session: int) -> Sequence[LoopRecord]:
    """Return the first loop of each session spawned here: a child that runs has no tool result yet."""
    first: dict[int, LoopRecord] = {}
    spawned = LoopRecord.objects.filter(session__parent__session=session).exclude(session=session)
    for loop in spawned.select_related("session__project").only(*SPAWNED).order_by("pk"):
        first.setdefault(loop.session_id, loop)
    return list(first.values())


def _child_rows(found: Mapping[int, _Found]) -> Mapping[int, ChildRow]:
    named = chips({child.config_id for _, _, child in found.values() if child and child.config_id})
    return {key: _child_row(*each, named) for key, each in found.items()}


def _child_row(
    session_id: str, tool_name: str, child: LoopRecord | None, named: Mapping[int, Chip]
) -> ChildRow:
    if child is None:
        return ChildRow(session_id, tool_name)
    return ChildRow(
        session_id,
        tool_name,
        links.loop(child.session.project.slug, child.session_id, child.pk),
        child.title or child.session.title or child.agent_id,
        state_of(child, is_waiting=child.waiting > 0),
        child.agent_label or child.agent_id,
        named.get(child.config_id or 0),
        child.turns,
        child.errors,
        child.started_at,
        child.ended_at,
        child,
    )

"""The loop tree of a session, with its parallel groups and the children recorded in other sessions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from dashboard import links
from dashboard.chips import Chip, chips
from dashboard.loops.queries.rows import LoopRow, rows, state_of
from dashboard.loops.tree import Mark, Node, marks
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
PLACED = ("session_id", "parent_id", "group_id", "branch_index", "role", "continuation_kind")


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
        return bool(self.node.children or self.node.branches)


@dataclass(frozen=True, slots=True)
class Tree:
    """The whole tree; root of the panel session/tree."""

    steps: Sequence[Drawn]
    loops: int
    children: int


@dataclass(frozen=True, slots=True)
class Trees:
    """The query of the panel for pages on which this loop is selected."""

    selected: int

    def __call__(self, pks: Collection[int]) -> Mapping[int, Tree]:
        return trees(pks, self.selected)


def trees(sessions: Collection[int], selected: int = 0) -> Mapping[int, Tree]:
    """Return the trees of sessions. Eleven queries."""
    shapes = {session: _Shape(session) for session in sessions}
    drawn = rows([loop.pk for shape in shapes.values() for loop in shape.loops])
    return {session: shape.drawn(drawn, selected) for session, shape in shapes.items()}


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


class _Shape:
    """What stands where in the tree of one session."""

    def __init__(self, session: int) -> None:
        self.loops = list(LoopRecord.objects.filter(session=session).only(*PLACED).order_by("pk"))
        groups = ParallelGroupRecord.objects.filter(session=session).select_related("session__project")
        groups = groups.only(*GROUPED)
        self.groups = {group.pk: group for group in groups}
        judges = {group.judge_id: group.pk for group in self.groups.values() if group.judge_id}
        called, below, self.children = _children(session)
        self.marks = marks(self.loops, judges=judges, called=called, children=below)

    @property
    def order(self) -> list[int]:
        return [step.node.key for step in self.marks if step.what == "open" and step.node.kind == "loop"]

    def drawn(self, drawn: Mapping[int, LoopRow], selected: int) -> Tree:
        steps = [_draw(step, drawn, self.children, self.groups, selected) for step in self.marks]
        return Tree(steps, len(self.loops), len(self.children))


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

"""The structure of a session's tree, read once per page and shared by all panels that need it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

from django.db.models import QuerySet

from dashboard.pages.session.tree.layout import Node, build_tree, rows
from dashboard.pages.session.tree.queries.sub_agents import children
from dashboard.shared.compiled_query import compiled
from dashboard.shared.session_state import SHOWN
from recorder.models import LoopRecord, ParallelGroupRecord

# Only the columns shown are read: whole rows of sessions and projects are wide.
OF_SESSION = ("session__project__slug", *(f"session__{name}" for name in SHOWN))
GROUPED = ("judge_id", "loop_ids", "status", "selected_loop_id", *OF_SESSION)
PLACED = ("pk", "parent_id", "group_id", "branch_index", "role", "continuation_kind")


class _Loop(NamedTuple):
    """The fields of a loop that determine its position; a tuple, since large sessions have thousands."""

    id: int
    parent_id: int | None
    group_id: int | None
    branch_index: int | None
    role: str
    continuation_kind: str


class Shape:
    """The tree of loops, groups and sub-agents of a session. Four queries, more for levels of sub-agents."""

    def __init__(self, session: int) -> None:
        placed = [_Loop(*row) for row in _loops(session)]
        self.groups = {group.pk: group for group in _groups(session)}
        self.children = children(session)
        self.nodes = build_tree(
            placed,
            judges={group.judge_id: group.pk for group in self.groups.values() if group.judge_id},
            called=self.children.called,
            children=self.children.below,
            deeper=self.children.deeper,
        )

    @cached_property
    def rows(self) -> Sequence[Node]:
        """Return the nodes drawn as rows, from top to bottom."""
        return list(rows(self.nodes))

    @cached_property
    def order(self) -> Sequence[int]:
        """Return the loops from top to bottom."""
        return [row.key for row in self.rows if row.kind == "loop"]


@compiled
def _loops(session: int) -> QuerySet[LoopRecord, tuple[Any, ...]]:
    return LoopRecord.objects.filter(session=session).order_by("pk").values_list(*PLACED)


@compiled
def _groups(session: int) -> QuerySet[ParallelGroupRecord]:
    groups = ParallelGroupRecord.objects.filter(session=session).select_related("session__project")
    return groups.only(*GROUPED)


ShapeOf: TypeAlias = Callable[[int], Shape]

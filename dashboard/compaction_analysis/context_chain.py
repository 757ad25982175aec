"""Context chain: the loops of a session that one context runs through, oldest first. Pure.

Each loop has at most one predecessor, the loop whose context it continues (see `ContextChain`), and at most
one successor: the selected branch if there is one, else the newest. Judges, sub-agents and compactions are
never successors.
Invariant: predecessors have smaller ids, and walks stop at a loop that was visited, so cyclic input ends.
Cost: sorting the loops once; a walk is linear in its length.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from recorder.core.loop_tree import tree_order

ASIDE = ("judge", "sub_agent", "compaction")  # roles whose loops are no successors


@dataclass(frozen=True, slots=True)
class Loop:
    """The columns of a loop that the chain and its labels need."""

    id: int
    session_id: int
    parent_id: int | None
    group_id: int | None
    branch_index: int | None
    role: str
    continuation_kind: str
    is_selected: bool | None
    agent_id: str
    loop_id: str
    title: str
    config_id: int | None
    turns: int
    cost_nano: int | None
    unpriced: int


class ContextChain:
    """The loops of one session, each with the loop whose context it continues.

    A loop with a parent continues the parent. A rerun continues the predecessor of the loop that it repeats,
    and a loop after a compaction loop continues the predecessor of that. A loop without a parent (a prompt of
    phi-core) continues the last normal loop, or selected branch, of the same agent.
    """

    def __init__(self, loops: Iterable[Loop]) -> None:
        self.loops = {loop.id: loop for loop in sorted(loops, key=lambda loop: loop.id)}
        self._before: dict[int, int | None] = {}
        last_of_agent: dict[str, int] = {}
        for loop in self.loops.values():
            self._before[loop.id] = self._found(loop, last_of_agent.get(loop.agent_id))
            if loop.role == "normal" or loop.is_selected:
                last_of_agent[loop.agent_id] = loop.id
        self._after = self._followed()

    @property
    def numbers(self) -> dict[int, int]:
        """Return each loop's number in the tree, from 1."""
        return {loop.id: n for n, loop in enumerate(tree_order(self.loops.values()), 1)}

    def base(self, pk: int) -> int:
        """Return the loop whose context a compaction in this loop shortened.

        A loop of the role compaction shortens the context of its predecessor.
        """
        visited = {pk}
        while self.loops[pk].role == "compaction":
            before = self._before[pk]
            if before is None or before in visited:
                break
            visited.add(pk := before)
        return pk

    def line(self, pk: int, most: int) -> Sequence[int]:
        """Return the chain through a loop, oldest first: at most `most` loops on either side."""
        base = self.base(pk)
        before = self._walk(base, self._before, most)
        return [*reversed(before), base, *self._walk(base, self._after, most)]

    def _found(self, loop: Loop, last: int | None) -> int | None:
        if loop.role in ("judge", "sub_agent"):
            return None
        parent = self.loops.get(loop.parent_id or 0)
        if parent is None or parent.id >= loop.id:
            return last
        is_after_pass = parent.role == "compaction" and loop.role != "compaction"
        if loop.continuation_kind == "Rerun" or is_after_pass:
            return self._before[parent.id]
        return parent.id

    def _followed(self) -> dict[int, int | None]:
        base_of: dict[int, int | None] = {}
        for loop in sorted(self.loops.values(), key=_preference):
            before = self._before[loop.id]
            if before is not None and loop.role not in ASIDE:
                base_of[before] = loop.id
        return base_of

    @staticmethod
    def _walk(pk: int, to: dict[int, int | None], most: int) -> list[int]:
        walked, visited, at = list[int](), {pk}, to.get(pk)
        while at is not None and at not in visited and len(walked) < most:
            walked.append(at)
            visited.add(at)
            at = to.get(at)
        return walked


def _preference(loop: Loop) -> tuple[bool, bool, int]:
    """Return the sort key of successors; the greatest is used: the winner, else the newest."""
    return loop.is_selected is True, loop.role != "branch", loop.id

"""Which loops a context runs through: from the prompt that began it to the newest. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from recorder.core.loop_tree import tree_order

ASIDE = ("judge", "sub_agent", "compaction")  # roles whose loops nobody's context goes through


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop of one session, as far as its place and its name need it."""

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


class Course:
    """The loops of one session, each with the one whose context it took over.

    What names a parent goes on from it, a rerun from where the loop began that it runs again. A prompt of
    phi-core names none: it goes on from the last loop that the same agent held with people.
    """

    def __init__(self, loops: Iterable[Loop]) -> None:
        self.loops = {loop.id: loop for loop in sorted(loops, key=lambda loop: loop.id)}
        self._before: dict[int, int | None] = {}
        held: dict[str, int] = {}
        for loop in self.loops.values():
            self._before[loop.id] = self._found(loop, held.get(loop.agent_id))
            if loop.role == "normal" or loop.is_selected:
                held[loop.agent_id] = loop.id
        self._after = self._followed()

    @property
    def numbers(self) -> dict[int, int]:
        """Return each loop's place in the tree, from 1."""
        return {loop.id: n for n, loop in enumerate(tree_order(self.loops.values()), 1)}

    def base(self, pk: int) -> int:
        """Return the loop whose context a pass in this loop shortened: one on its own shortens another's."""
        seen = {pk}
        while self.loops[pk].role == "compaction":
            before = self._before[pk]
            if before is None or before in seen:
                break
            seen.add(pk := before)
        return pk

    def line(self, pk: int, most: int) -> Sequence[int]:
        """Return the loops that a context runs through, oldest first: at most so many on either side."""
        base = self.base(pk)
        before = self._walk(base, self._before, most)
        return [*reversed(before), base, *self._walk(base, self._after, most)]

    def _found(self, loop: Loop, held: int | None) -> int | None:
        if loop.role in ("judge", "sub_agent"):
            return None
        parent = self.loops.get(loop.parent_id or 0)
        if parent is None or parent.id >= loop.id:
            return held
        is_after_pass = parent.role == "compaction" and loop.role != "compaction"
        if loop.continuation_kind == "Rerun" or is_after_pass:
            return self._before[parent.id]
        return parent.id

    def _followed(self) -> dict[int, int | None]:
        found: dict[int, int | None] = {}
        for loop in sorted(self.loops.values(), key=_preference):
            before = self._before[loop.id]
            if before is not None and loop.role not in ASIDE:
                found[before] = loop.id
        return found

    @staticmethod
    def _walk(pk: int, to: dict[int, int | None], most: int) -> list[int]:
        walked, seen, at = list[int](), {pk}, to.get(pk)
        while at is not None and at not in seen and len(walked) < most:
            walked.append(at)
            seen.add(at)
            at = to.get(at)
        return walked


def _preference(loop: Loop) -> tuple[bool, bool, int]:
    """Return what is chosen last among those that follow the same loop: the winner, else the newest."""
    return loop.is_selected is True, loop.role != "branch", loop.id

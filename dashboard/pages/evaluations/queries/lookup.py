"""Session and loops of an evaluation."""

from __future__ import annotations

from dataclasses import dataclass

from dashboard.shared.session_state import SHOWN, State, is_stale
from recorder.models import LoopRecord, ParallelGroupRecord, Turn


@dataclass(frozen=True, slots=True)
class Place:
    """A group's session and loops, and the turns of its judge."""

    session: int
    branches: frozenset[int]
    judge: int | None
    judge_turns: frozenset[int]
    is_stale: bool  # the session is


def place(group: int) -> Place:
    """Return session and loops of a group. Three queries. Raises ParallelGroupRecord.DoesNotExist."""
    columns = ("session_id", "judge_id", *(f"session__{name}" for name in SHOWN))
    session, judge, *state = ParallelGroupRecord.objects.values_list(*columns).get(pk=group)
    branches = LoopRecord.objects.filter(group=group).values_list("pk", flat=True)
    turns = Turn.objects.filter(loop=judge).values_list("pk", flat=True) if judge else ()
    return Place(session, frozenset(branches), judge, frozenset(turns), is_stale(State.of(state)))


def is_of(project: int, pk: int) -> bool:
    """Whether a group belongs to the project."""
    return ParallelGroupRecord.objects.filter(session__project=project, pk=pk).exists()

"""Looks for waste behind the writer: in its idle time, in steps, in the order in which calls ended.

A step (`recorder.follower.steps`) takes the calls, turns and loops that ended with the lines after the cursor
through the rules. Sessions in `WasteRedo` are made again first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from recorder.follower.steps import Steps
from recorder.models import Waste, WasteRedo
from recorder.waste import adding, lines, state
from recorder.waste.lines import End


class _Tables:
    """Waste as tables that follow the journal."""

    name = "waste"
    at_once = adding.AT_ONCE
    cursors = state.CURSORS
    marks = WasteRedo

    def __init__(self) -> None:
        self.alarms: dict[int, dict[int, int]] = {}  # new ones and their loops, by project

    def begin(self) -> None:
        """Begin projects that have no cursor."""
        state.ensure_all()

    def ends_between(self, after: int, upto: int) -> Sequence[End]:
        """Return what ended with the lines after one, up to another, in order. One query."""
        return lines.ends_between(after, upto)

    def add(self, ends: Sequence[End]) -> None:
        """Take what ended through the rules."""
        self._note(adding.add(ends))

    def make_again(self, mark: WasteRedo, upto: int, *, is_pruned: bool) -> None:
        """Find the waste of a session again; one whose bodies were pruned keeps what was found.

        What the rules remember of its loops is forgotten: it may name what is masked now.
        """
        if is_pruned:
            state.forget_loops(mark.session)
        else:
            self._note(adding.again(mark.session, upto))

    def forget_session(self, session: int) -> None:
        """Delete the waste of a session."""
        state.forget_session(session)

    def _note(self, alarms: Iterable[Waste]) -> None:
        for waste in alarms:
            self.alarms.setdefault(waste.project_id, {})[waste.pk] = waste.loop


class Follower:
    """Runs steps. One a process, in the writer thread or in a command."""

    def __init__(self, *, is_patient: bool = False) -> None:
        self._tables = _Tables()
        self._steps = Steps(self._tables, is_patient=is_patient)
        self.touched: dict[int, set[int]] = {}  # sessions that changed by project; callers empty it

    @property
    def is_behind(self) -> bool:
        return self._steps.is_behind

    def run(self, is_interrupted: Callable[[], bool], seconds: float) -> None:
        """Work until nothing is left, somebody waits, or so many seconds have passed. Errors are logged."""
        self._steps.run(self.step, is_interrupted, seconds)

    def step(self) -> bool:
        """Take the next lines; False when nothing is left."""
        has_worked = self._steps.step()
        changed, self._steps.touched = self._steps.touched, {}
        for project, sessions in changed.items():
            self.touched.setdefault(project, set()).update(sessions)
        return has_worked

    def new_alarms(self, project: int) -> dict[int, int]:
        """Return the waste of a project that became an alarm since the last call, with its loops."""
        return self._tables.alarms.pop(project, {})


def waiting() -> int:
    """Return how many lines the follower has not passed."""
    return state.CURSORS.waiting()


def run_all(on_progress: Callable[[int], None] = lambda _: None) -> None:
    """Look for waste in everything recorded up to now, as a command does; progress counts lines passed.

    On PostgreSQL it ends at the first line that another process may still commit a line before.
    """
    follower = Follower(is_patient=True)
    left = waiting()
    while follower.step():
        now = waiting()
        on_progress(max(0, left - now))
        left = now

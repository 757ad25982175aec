"""Makes the ledger behind the writer: in its idle time, in steps, in the order in which calls ended.

A step (`recorder.follower.steps`) reads the calls that end with the lines after the cursor, and writes their
blocks, calls, sums and the cursor in one transaction. Sessions in `LedgerRedo` are made again first.

Invariant: the ledger of a session follows from its journal lines and records, whenever and wherever a step
ran: made again, it is the same. A call that breaks the ledger is skipped (`recorder.ledger.adding`), so it
stops none behind it. Cost: about twenty queries a step, and two to five a call, whose request is read once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

from recorder.follower.steps import Steps
from recorder.ledger import adding, state, sums, turns
from recorder.ledger.turns import End
from recorder.models import LedgerRedo

DAYS_EVERY_S = 2.0  # between two times that days are added up
NEWEST = 1_000  # calls of a session made again that open pages redraw


class Ledger:
    """The ledger as tables that follow the journal."""

    name = "ledger"
    at_once = adding.AT_ONCE
    cursors = state.CURSORS
    marks = LedgerRedo

    def __init__(self) -> None:
        self.turns: dict[int, set[int]] = {}  # turns that were added, by project

    def begin(self) -> None:
        """Begin the ledger of projects that have none."""
        state.ensure_all()

    def ends_between(self, after: int, upto: int) -> Sequence[End]:
        """Return the calls that ended with the lines after one, up to another, in order. One query."""
        return turns.ends_between(after, upto)

    def add(self, ends: Sequence[End]) -> None:
        """Add calls in order."""
        adding.add(ends)
        self._note(ends)

    def make_again(self, mark: LedgerRedo, upto: int, *, is_pruned: bool) -> None:
        """Make a session again; one whose bodies were pruned keeps its blocks."""
        ends = turns.ends_of_session(mark.session, upto)
        adding.again(mark.session, ends, is_whole=mark.is_whole and not is_pruned)
        self._note(ends[-NEWEST:])

    def forget_session(self, session: int) -> None:
        """Delete the ledger of a session."""
        state.forget_session(session)

    def _note(self, ends: Iterable[End]) -> None:
        for end in ends:
            self.turns.setdefault(end.project, set()).add(end.turn)


class Follower:
    """Runs steps, and adds up days. One a process, in the writer thread or in a command."""

    def __init__(self, *, is_patient: bool = False) -> None:
        self._is_patient = is_patient
        self._ledger = Ledger()
        self._steps = Steps(self._ledger, is_patient=is_patient)
        self._days_at = 0.0
        self.touched: dict[int, set[int]] = {}  # sessions that changed by project; callers empty it
        self._unsummed: dict[int, set[int]] = {}  # of these, those whose days are not yet added up

    @property
    def is_behind(self) -> bool:
        return self._steps.is_behind

    def run(self, is_interrupted: Callable[[], bool], seconds: float) -> None:
        """Work until nothing is left, somebody waits, or so many seconds have passed. Errors are logged."""
        self._steps.run(self.step, is_interrupted, seconds)

    def step(self) -> bool:
        """Add the next calls, or add up days; False when nothing is left."""
        has_worked = self._steps.step()
        changed, self._steps.touched = self._steps.touched, {}
        for project, sessions in changed.items():
            self.touched.setdefault(project, set()).update(sessions)
            self._unsummed.setdefault(project, set()).update(sessions)
        return has_worked or (not self._steps.is_behind and self._add_up_days())

    def new_turns(self, project: int) -> set[int]:
        """Return the turns of a project that were added since the last call."""
        return self._ledger.turns.pop(project, set())

    def _add_up_days(self) -> bool:
        if time.monotonic() - self._days_at < DAYS_EVERY_S:
            return False
        self._days_at = time.monotonic()
        has_more = sums.add_up_days(is_patient=self._is_patient)
        for project, sessions in self._unsummed.items():  # pages that show days read them only now
            self.touched.setdefault(project, set()).update(sessions)
        self._unsummed = {}
        return has_more


def waiting() -> int:
    """Return how many lines the follower has not passed."""
    return state.CURSORS.waiting()


def run_all(on_progress: Callable[[int], None] = lambda _: None) -> None:
    """Make the ledger of everything recorded up to now, as a command does; progress counts lines passed.

    On PostgreSQL it ends at the first line that another process may still commit a line before.
    """
    follower = Follower(is_patient=True)
    left = waiting()
    while follower.step():
        now = waiting()
        on_progress(max(0, left - now))
        left = now
    while sums.add_up_days():
        pass

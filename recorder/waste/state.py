"""The progress of the search for waste in each project, and what is forgotten."""

from __future__ import annotations

from recorder.follower.cursors import Cursors
from recorder.models import Session, Waste, WasteLoop, WasteState

VERSION = 1  # of the rules
CURSORS = Cursors(WasteState, VERSION, lock_key=7_207)


def ensure_all() -> None:
    """Begin every project that has no cursor, and those of other rules anew."""
    CURSORS.ensure_all(forget)


def forget(project: int) -> None:
    """Delete the waste of a project; it is found again from its first line.

    Sessions whose bodies were pruned keep theirs: it could not be found again.
    """
    CURSORS.lock()
    pruned = Session.objects.filter(project=project, pruned_on__isnull=False).values("pk")
    for model in (Waste, WasteLoop):
        model.objects.filter(project=project).exclude(session__in=pruned).delete()
    CURSORS.begin_anew(project)


def forget_session(session: int) -> None:
    """Delete the waste of a session."""
    CURSORS.lock()
    for model in (Waste, WasteLoop):
        model.objects.filter(session=session).delete()


def forget_loops(session: int) -> None:
    """Delete what the rules remember of the loops of a session, whose waste stays, under the lock."""
    WasteLoop.objects.filter(session=session).delete()

"""The same entry on several sessions: all of them, or none if it is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from django.db import transaction

from recorder.notes import targets
from recorder.notes.targets import Target

MOST = 200  # sessions at once


def write_on_each(project: int, session_ids: Iterable[str], write: Callable[[Target], object]) -> None:
    """Call `write` with each session as target, in one transaction. Raises what it raises, and NoTarget."""
    with transaction.atomic():
        for session_id in session_ids:
            write(targets.find(project, session_id))

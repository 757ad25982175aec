"""Removes the words of deleted text from the segments of an index.

FTS5 notes a deleted document in a new segment, and the words stay in the older one until the two are merged.
PostgreSQL removes them by VACUUM. After text was deleted for good the segments of the project are merged into
one, in portions, by the command that deleted it or by the server within seconds.

Cost: the index of the project is written once, whatever was deleted since the last time.
"""

from __future__ import annotations

from django.db import connection

from recorder.models import SearchState
from recorder.search import tables


def note(project: int) -> None:
    """Note, in the transaction that deletes documents for good, that their words are to be removed."""
    if connection.vendor == "sqlite":
        SearchState.objects.filter(project=project).update(has_deleted=True)


def remove(project: int | None = None) -> None:
    """Remove the words that were noted, of one project or of all; the next run repeats an interrupted one."""
    noted = SearchState.objects.filter(has_deleted=True).order_by("pk")
    for state in noted if project is None else noted.filter(project=project):
        tables.merge(state.pk)
        SearchState.objects.filter(pk=state.pk).update(has_deleted=False)

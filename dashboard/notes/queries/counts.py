"""Numbers of notes, scores and bookmarks by anchor: on events, and on the turns of a loop."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from django.db.models import Count, Min, QuerySet

from dashboard.notes.queries.entries import KINDS, standing
from recorder.models import LoopRecord, Note


@dataclass(frozen=True, slots=True)
class NoteCount:
    """Numbers of entries of one place, and the primary key of the first of them."""

    first: int
    notes: int = 0
    scores: int = 0
    bookmarks: int = 0


def of_events(project: int, session_id: str, events: Collection[int]) -> Mapping[int, NoteCount]:
    """Return the numbers of entries by the event that anchors them. One query."""
    rows = Note.objects.filter(project=project, session_id=session_id, event__in=events, parent=None)
    return _counts(rows, "event") if events else {}


def of_turns_in(loop: int) -> Mapping[int, NoteCount]:
    """Return the numbers of entries on the turns of a loop and on their events, by position. Two queries."""
    found = LoopRecord.objects.filter(pk=loop).select_related("session").first()
    if found is None:
        return {}
    project, session_id = found.session.project_id, found.session.session_id
    rows = Note.objects.filter(project=project, session_id=session_id, loop_id=found.loop_id, run=found.run)
    return _counts(rows.filter(turn__isnull=False, parent=None), "turn")


def _counts(rows: QuerySet[Note], place: str) -> Mapping[int, NoteCount]:
    names = {kind: name for name, kind in KINDS.items()}
    grouped = standing(rows).order_by().values_list(place, "kind").annotate(n=Count("pk"), first=Min("pk"))
    found: dict[int, dict[str, int]] = {}
    for at, kind, number, first in grouped:
        counts = found.setdefault(at, {"first": first})
        counts[names[kind]] = number
        counts["first"] = min(counts["first"], first)
    return {at: NoteCount(**counts) for at, counts in found.items()}

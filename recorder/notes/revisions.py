"""Earlier states of notes, scores and bookmarks, so that as of an event an entry is as it was then.

A change keeps the state before it, with the newest event of the session at that time: as of this event and of
earlier ones the entry is in that state. Of several changes without an event between them only the first keeps
a state, as no event shows those between. Revisions are deleted with their entry.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Max, OuterRef, Subquery
from django.utils import timezone

from recorder.models import EventRecord, Note, NoteRevision

STATE = ("value", "number", "text", "edited_at", "resolved_at", "resolved_by")


def keep(note: Note, author: str) -> None:
    """Keep the stored state of an entry that `author` is about to change. In a transaction; four queries."""
    stored = Note.objects.select_for_update().filter(pk=note.pk).first()
    if stored is None:
        return
    until = max(_newest(stored), stored.event)
    if NoteRevision.objects.filter(note=stored, until=until).exists():
        return
    state = {name: getattr(stored, name) for name in STATE}
    NoteRevision.objects.create(
        note=stored, until=until, changed_by=author, changed_at=timezone.now(), **state
    )


def restore(notes: Iterable[Note], at: int) -> None:
    """Give entries the state that they had as of an event; they must not be saved afterwards. One query."""
    found = {note.pk: note for note in notes}
    if not found:
        return
    later = NoteRevision.objects.filter(note=OuterRef("note"), until__gte=at).order_by("until")
    rows = NoteRevision.objects.filter(note__in=found, until=Subquery(later.values("until")[:1]))
    for row in rows:
        for name in STATE:
            setattr(found[row.note_id], name, getattr(row, name))


def _newest(note: Note) -> int:
    events = EventRecord.objects.filter(session__project=note.project_id, session__session_id=note.session_id)
    return int(events.aggregate(newest=Max("journal_id"))["newest"] or 0)

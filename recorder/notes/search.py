"""The entries of notes in the full-text index: called in the transaction that writes or deletes one."""

from __future__ import annotations

from recorder.models import Note, Session, Turn
from recorder.search import documents
from recorder.search.documents import Place
from recorder.search.notes import put_note, remove_note


def lock() -> None:
    """Lock the index until the transaction ends, before a definition of a score or an entry is locked.

    Recording locks them in this order, too; PostgreSQL would find a deadlock in any other.
    """
    documents.lock()


def index_note(note: Note) -> None:
    """Put the text of a note, or of the reason of a score, into the full-text index."""
    session = _session(note)
    if session is None:
        return
    if not note.text.strip():
        remove_note(note.project_id, note.pk, session)
        return
    turn = Turn.objects.filter(loop=note.loop, ordinal=note.turn) if note.turn is not None else None
    place = Place(session, note.loop, turn.values_list("pk", flat=True).first() if turn else None, note.event)
    put_note(note.project_id, note.pk, place, note.text, note.edited_at or note.created_at)


def forget_note(note: Note) -> None:
    """Remove a note from the full-text index. The index of a session that is gone has no notes either."""
    session = _session(note)
    if session is not None:
        remove_note(note.project_id, note.pk, session)


def _session(note: Note) -> int | None:
    rows = Session.objects.filter(project=note.project_id, session_id=note.session_id)
    return rows.values_list("pk", flat=True).first()

"""Notes in the index. They are not in the journal, so their text is stored in the row of the document."""

from __future__ import annotations

from datetime import datetime

from recorder.search import documents, state
from recorder.search.documents import Place


def put_note(project: int, note: int, place: Place, text: str, at: datetime) -> None:
    """Index a note, replacing its earlier text. Call it in the transaction that writes the note."""
    remove_note(project, note, place.session)
    documents.add_text(project, place, "note", text, at, str(note))


def remove_note(project: int, note: int, session: int) -> None:
    """Delete a note from the index."""
    documents.lock()
    state.ensure(project)
    documents.remove_where(project, "note", str(note), [session])

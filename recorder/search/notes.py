"""Notes in the index. They are not in the journal, so their text is stored in the row of the document."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from recorder.search import documents, state
from recorder.search.documents import Place


@dataclass(frozen=True, slots=True)
class NoteText:
    """The text of a note, with the primary key of the note and the place that it is about."""

    note: int
    place: Place
    text: str
    at: datetime


def put_note(project: int, note: int, place: Place, text: str, at: datetime) -> None:
    """Index a note, replacing its earlier text. Call it in the transaction that writes the note."""
    remove_note(project, note, place.session)
    documents.add_text(project, place, "note", text, at, str(note))


def add_notes(project: int, texts: Iterable[NoteText]) -> None:
    """Index notes that are not in the index, in a number of statements that hardly grows with theirs."""
    documents.lock()
    state.ensure(project)
    made = (documents.documents_of(each.place, "note", each.text, each.at, str(each.note)) for each in texts)
    documents.add(project, [document for of_note in made for document in of_note])


def remove_note(project: int, note: int, session: int) -> None:
    """Delete a note from the index."""
    remove_notes(project, [note], [session])


def remove_notes(project: int, notes: Collection[int], sessions: Collection[int]) -> None:
    """Delete notes of some sessions from the index. All documents of the sessions are read once."""
    documents.lock()
    state.ensure(project)
    documents.remove_where(project, "note", list(map(str, notes)), sessions)

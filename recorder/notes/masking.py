"""Masks the notes that are stored already by the rules of today: texts, earlier texts, and names of programs.

Names of people stay, as when a note is written: those of users of the installation, and of the author of an
entry that a person wrote. Values of scores, ids and times stay. The index gets the masked texts.

Cost: each entry and each earlier state is read once, `AT_ONCE` at a time; those that change are written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from django.contrib.auth.models import User
from django.db.models import QuerySet

from recorder.masking.masker import Masker
from recorder.models import Note, NoteRevision
from recorder.notes import search
from recorder.notes.write import AUTHOR_CHARS
from recorder.search import deleted_words

AT_ONCE = 500
Row = TypeVar("Row", Note, NoteRevision)


def mask_notes(project: int, masker: Masker, *, write: bool) -> int:
    """Mask the entries of a project; return how many change, in themselves or in an earlier state.

    Call it in a transaction. Nothing is written without `write`. One query for `AT_ONCE` entries, one for as
    many earlier states, and about ten statements for each entry that changes.
    """
    people = set(User.objects.values_list("username", flat=True))

    def masked(text: str) -> str:
        return masker.mask_text(text) if text else text

    def name(value: str) -> str:
        return value if value in people else masked(value)[:AUTHOR_CHARS]

    changed: set[int] = set()
    for note in _changed(Note.objects.filter(project=project), lambda note: _mask_note(note, masked, name)):
        changed.add(note.pk)
        if write:
            note.save(update_fields=("text", "author", "resolved_by"))
            search.index_note(note)
    revisions = NoteRevision.objects.filter(note__project=project)
    for revision in _changed(revisions, lambda revision: _mask_revision(revision, masked, name)):
        changed.add(revision.note_id)
        if write:
            revision.save(update_fields=("text", "resolved_by", "changed_by"))
    if write and changed:
        deleted_words.note(project)
    return len(changed)


def _mask_note(note: Note, masked: Callable[[str], str], name: Callable[[str], str]) -> None:
    note.text, note.resolved_by = masked(note.text), name(note.resolved_by)
    if note.source != Note.Source.HUMAN:
        note.author = name(note.author)


def _mask_revision(revision: NoteRevision, masked: Callable[[str], str], name: Callable[[str], str]) -> None:
    revision.text, revision.resolved_by = masked(revision.text), name(revision.resolved_by)
    revision.changed_by = name(revision.changed_by)


def _changed(rows: QuerySet[Row], mask: Callable[[Row], None]) -> Iterator[Row]:
    """Yield the rows that `mask` changes, masked."""
    last = 0
    while found := list(rows.filter(pk__gt=last).order_by("pk")[:AT_ONCE]):
        last = found[-1].pk
        for row in found:
            before = dict(vars(row))
            mask(row)
            if vars(row) != before:
                yield row

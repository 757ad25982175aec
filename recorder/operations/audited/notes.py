"""Delete notes, scores and bookmarks, with an entry in the audit log that does not repeat their text."""

from __future__ import annotations

from django.db import transaction

from recorder.core.records import Json
from recorder.models import Note, Project
from recorder.notes import write
from recorder.notes.write import Author
from recorder.operations import audit
from recorder.operations.audit import Actor


def delete_note(project: Project, note: Note, author: Author, actor: Actor) -> None:
    """Delete an entry with its replies. Raises NotAllowed."""
    with transaction.atomic():
        before: Json = {
            "kind": note.kind,
            "id": note.pk,
            "author": note.author,
            "replies": note.replies.count(),
        }
        write.delete(note, author)
        audit.record(project, actor, "note.delete", note.session_id, before=before)

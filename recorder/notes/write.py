"""Writes notes, scores and bookmarks, and publishes what changed after the commit.

Rules: a score exists once for each author, name and target, and giving it again changes it; a program may
add ids to give several scores of one name. A bookmark exists once for each person and target. Replies have
one level. Authors change and delete their own entries, admins any. A change keeps the state before it. Texts,
and the names that programs give themselves, are masked by the rules of the project before they are stored.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from recorder.masking.project_rules import masker_of
from recorder.models import EventRecord, LoopRecord, Note, ParallelGroupRecord, Session, Turn
from recorder.notes import definitions, mentions, revisions, search
from recorder.notes.errors import NotAllowed, Refused
from recorder.notes.targets import Target, of_note
from recorder.pubsub import invalidation
from recorder.pubsub.invalidation import Invalidation
from recorder.search import deleted_words

TEXT_CHARS, ID_CHARS, AUTHOR_CHARS = 20_000, 200, 200


@dataclass(frozen=True, slots=True)
class Author:
    """The author of an entry: a user, or a program or judge with an access token."""

    name: str
    source: str = Note.Source.HUMAN
    user: User | None = None
    token: int | None = None
    is_admin: bool = False

    @property
    def identity(self) -> str:
        """Return a key unique among authors; judges of one token are distinguished by their names."""
        if self.user is not None:
            return f"user {self.user.pk}"
        return f"token {self.token} {self.source} {self.name if self.source == Note.Source.JUDGE else ''}"


@dataclass(frozen=True, slots=True)
class Written:
    """An entry, and whether it is new."""

    note: Note
    is_new: bool


def add_note(
    project: int, author: Author, target: Target, text: str, *, given_id: str = "", parent: Note | None = None
) -> Written:
    """Write a note, or a reply to `parent` on its target; with the same `given_id` once. Raises Refused."""
    text = _text(text)
    if not text.strip():
        raise Refused("A note has a text.")
    if parent is not None:
        if parent.parent_id is not None or parent.kind != Note.Kind.NOTE:
            raise Refused("Only a note can be replied to, and a reply cannot.")
        target = of_note(parent)
    note = _entry(project, author, target, Note.Kind.NOTE, text, given_id, parent=parent)
    note.key = _key(author, target, "note", "", given_id) if given_id else None
    return _put(note)


def give_score(
    project: int,
    author: Author,
    target: Target,
    name: str,
    value: object,
    *,
    text: str = "",
    given_id: str = "",
    is_typed: bool = True,
) -> Written:
    """Give a score by its definition, or change the one that the author gave. Raises Refused.

    `is_typed` is False for the text of a form.
    """
    note = _entry(project, author, target, Note.Kind.SCORE, _text(text), given_id)
    note.key = _key(author, target, "score", name, given_id)
    with transaction.atomic():
        search.lock()
        definition = definitions.definition(project, name, target.target, author.source)
        if is_typed:
            checked = definitions.checked(definition, value)
        else:
            checked = definitions.parsed(definition, str(value))
        note.name, note.value, note.number = name, checked, definitions.number_of(checked)
        return _put(note)


def add_bookmark(project: int, author: Author, target: Target, text: str = "") -> Written:
    """Set the author's bookmark on a target, or change its text. Raises Refused."""
    note = _entry(project, author, target, Note.Kind.BOOKMARK, _text(text), "")
    note.key = _key(author, target, "bookmark", "", "")
    return _put(note)


def edit(note: Note, author: Author, *, text: str | None = None, value: object = None) -> None:
    """Change the text or the value of an entry. Raises NotAllowed or Refused."""
    require_own(note, author)
    if text is not None:
        note.text = masker_of(note.project_id).mask_text(_text(text))
        if note.kind == Note.Kind.NOTE and not note.text.strip():
            raise Refused("A note has a text.")
    if value is not None and note.kind != Note.Kind.SCORE:
        raise Refused("Only a score has a value.")
    note.edited_at = timezone.now()
    with transaction.atomic():
        search.lock()
        revisions.keep(note, _name(note.project_id, author))
        if value is not None:
            definition = definitions.definition(note.project_id, note.name, note.target, note.source)
            note.value = definitions.checked(definition, value)
            note.number = definitions.number_of(note.value)
        note.save(update_fields=("text", "value", "number", "edited_at"))
        _written(note)


def resolve(note: Note, author: Author, *, is_resolved: bool) -> None:
    """Mark a note as resolved or open again; any member may. Raises Refused."""
    if note.kind != Note.Kind.NOTE or note.parent_id is not None:
        raise Refused("Only a note can be resolved, and a reply cannot.")
    note.resolved_at = timezone.now() if is_resolved else None
    note.resolved_by = _name(note.project_id, author) if is_resolved else ""
    with transaction.atomic():
        revisions.keep(note, _name(note.project_id, author))
        note.save(update_fields=("resolved_at", "resolved_by"))
        _publish(note)


def delete(note: Note, author: Author) -> None:
    """Delete an entry with its replies. Raises NotAllowed."""
    require_own(note, author)
    with transaction.atomic():
        deleted = [note, *note.replies.all()]
        for each in deleted:
            search.forget_note(each)
        _publish(note, mentions.of_notes([each.pk for each in deleted]))
        note.delete()


def delete_of_session(project: int, session_id: str) -> int:
    """Delete all entries on a session that is deleted for good; return their number. In a transaction."""
    notes = list(Note.objects.filter(project=project, session_id=session_id))
    _delete_all(project, notes)
    return len(notes)


def delete_threads(project: int, roots: Collection[int]) -> int:
    """Delete entries with their replies, by any author; return the number of all. In a transaction."""
    notes = list(Note.objects.filter(Q(pk__in=roots) | Q(parent__in=roots), project=project))
    deleted_words.note(project)
    sessions = Session.objects.filter(project=project, session_id__in={note.session_id for note in notes})
    _delete_all(project, notes, set(sessions.values_list("pk", flat=True)))
    return len(notes)


def is_own(note: Note, author: Author) -> bool:
    """Say whether an author wrote an entry."""
    if author.user is not None:
        return note.user_id == author.user.pk
    return author.token is not None and note.token == author.token


def require_own(note: Note, author: Author) -> None:
    """Raise NotAllowed unless the author wrote the entry or is an admin."""
    if not (is_own(note, author) or author.is_admin):
        raise NotAllowed


def _name(project: int, author: Author) -> str:
    """Return the name of a person, or the masked name that a program gave itself."""
    return author.name if author.user is not None else masker_of(project).mask_text(author.name)


def _entry(
    project: int,
    author: Author,
    target: Target,
    kind: str,
    text: str,
    given_id: str,
    *,
    parent: Note | None = None,
) -> Note:
    if len(given_id) > ID_CHARS or "\0" in given_id:
        raise Refused(f"`id` has more than {ID_CHARS} characters, or a NUL character.")
    return Note(
        project_id=project,
        kind=kind,
        text=masker_of(project).mask_text(text),
        source=author.source,
        author=_name(project, author)[:AUTHOR_CHARS],
        user=author.user,
        token=author.token,
        given_id=given_id,
        parent=parent,
        created_at=timezone.now(),
        **target.fields,
    )


def _delete_all(project: int, notes: Sequence[Note], noted: set[int] | None = None) -> None:
    for note in notes:
        search.forget_note(note)
    people = mentions.of_notes([note.pk for note in notes])
    if people or noted:
        touched = Invalidation(project, people=people, noted=noted or set())
        transaction.on_commit(partial(invalidation.publish, touched))
    Note.objects.filter(pk__in=[note.pk for note in notes]).delete()


def _put(note: Note) -> Written:
    """Insert an entry, or change the one of the same key; concurrent requests leave one."""
    with transaction.atomic():
        search.lock()
        found = _of_key(note)
        if found is None:
            try:
                with transaction.atomic():
                    note.save()
            except IntegrityError:
                found = _of_key(note)
                if found is None:
                    raise
        if found is None:
            _written(note)
            return Written(note, is_new=True)
        if (found.value, found.text) != (note.value, note.text):
            revisions.keep(found, note.author)
            found.value, found.number, found.text = note.value, note.number, note.text
            found.edited_at = note.created_at
            found.save(update_fields=("value", "number", "text", "edited_at"))
            _written(found)
        return Written(found, is_new=False)


def _of_key(note: Note) -> Note | None:
    if note.key is None:
        return None
    rows = Note.objects.select_for_update().filter(project=note.project_id, key=note.key)
    return rows.first()


def _written(note: Note) -> None:
    people = mentions.save(note) if note.kind == Note.Kind.NOTE else set()
    search.index_note(note)
    _publish(note, people)


def _publish(note: Note, people: set[int] | None = None) -> None:
    """Publish after the commit what shows the entry: its session, its anchor, its turn or evaluation."""
    session = Session.objects.filter(project=note.project_id, session_id=note.session_id).only("pk").first()
    touched = Invalidation(note.project_id, people=people or set())
    if session is not None:
        touched.noted.add(session.pk)
        anchor = EventRecord.objects.filter(pk=note.event, session=session).values_list("pk", "loop_id")
        touched.events.update((event, loop or 0) for event, loop in anchor)
        if note.group is not None:
            groups = ParallelGroupRecord.objects.filter(session=session, ordinal=note.group)
            touched.groups.update(groups.values_list("pk", flat=True))
        if note.turn is not None:
            loops = LoopRecord.objects.filter(session=session, loop_id=note.loop_id, run=note.run)
            turns = Turn.objects.filter(loop__in=loops, ordinal=note.turn)
            touched.turns.update({turn.pk: turn.loop_id for turn in turns.only("loop")})
    transaction.on_commit(partial(invalidation.publish, touched))


def _key(author: Author, target: Target, kind: str, name: str, given_id: str) -> str:
    parts = "\n".join((kind, author.identity, name, given_id, target.name))
    return sha256(parts.encode(errors="replace")).hexdigest()


def _text(text: str) -> str:
    if len(text) > TEXT_CHARS:
        raise Refused(f"The text has more than {TEXT_CHARS:,} characters.")
    if "\0" in text or not _is_unicode(text):
        raise Refused("The text has a NUL character or a lone surrogate.")
    return text


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True

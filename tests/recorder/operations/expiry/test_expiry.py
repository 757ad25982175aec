"""Retention of records and of notes, as `prune` applies it."""

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import AuditEntry, Deletion, JournalEvent, Note, Pin, Project, SearchDocument, Session
from recorder.notes import targets, write
from recorder.notes.write import Author
from recorder.operations.integrity_check import findings
from recorder.search import indexer
from tests.support.build import line
from tests.support.small_loop import Loop

pytestmark = pytest.mark.django_db(transaction=True)

NOW = timezone.now()
ADA = Author("ada")


def whole(session):
    return list(map(line, Loop(session, "a.1").whole(f"hello {session}")))


def aged(session, days):
    Session.objects.filter(session_id=session).update(last_event_at=NOW - timedelta(days=days))


@pytest.fixture
def sessions(project):
    Project.objects.filter(pk=project.pk).update(retention_days=None)
    for name, days in (("old", 31), ("pinned", 31), ("new", 29)):
        ingest(Batch(project.pk, "p", None, whole(name)))
        aged(name, days)
    Pin.objects.create(project=project, session_id="pinned")


def test_sessions_older_than_the_period_are_deleted_with_tombstones(project, sessions, capsys):
    other = Project.objects.create(slug="other", retention_days=None)
    ingest(Batch(other.pk, "p", None, whole("old")))
    Session.objects.filter(project=other).update(last_event_at=NOW - timedelta(days=31))
    Project.objects.filter(pk=project.pk).update(record_days=30)

    call_command("prune")

    left = Session.objects.filter(project=project).values_list("session_id", flat=True)
    assert set(left) == {"pinned", "new"}
    assert "; 1 session" in capsys.readouterr().out
    assert Session.objects.filter(project=other).count() == 1
    again = ingest(Batch(project.pk, "q", None, whole("old")))
    assert (again.accepted, again.dropped) == (0, len(whole("old")))
    assert Deletion.objects.get().requested_by == "prune"
    entries = AuditEntry.objects.order_by("pk").values_list("action", "target", "actor")
    assert list(entries) == [
        ("session.delete", "old", "prune"),
        ("retention.prune", "default records", "prune"),
    ]
    assert list(findings()) == []


def test_without_a_period_all_sessions_stay(project, sessions):
    before = JournalEvent.objects.count()
    call_command("prune")
    assert (Session.objects.count(), JournalEvent.objects.count()) == (3, before)
    assert not AuditEntry.objects.exists()


def note(project, text, days, session="new", parent=None):
    target = targets.find(project.pk, session_id=session)
    written = write.add_note(project.pk, ADA, target, text, parent=parent).note
    Note.objects.filter(pk=written.pk).update(created_at=NOW - timedelta(days=days))
    return written


def test_notes_go_with_their_replies_once_nobody_has_written_for_so_long(project, sessions):
    resolved = note(project, "resolved", 40)
    write.resolve(resolved, ADA, is_resolved=True)
    ended = note(project, "ended", 50)
    note(project, "its answer", 40, parent=ended)
    discussed = note(project, "discussed", 50)
    note(project, "a late answer", 5, parent=discussed)
    edited = note(project, "edited", 50)
    Note.objects.filter(pk=edited.pk).update(edited_at=NOW - timedelta(days=5))
    note(project, "of a pinned session", 50, "pinned")
    note(project, "new", 5)
    Project.objects.filter(pk=project.pk).update(note_days=30)
    indexer.run_all()

    call_command("prune")

    left = {"discussed", "a late answer", "edited", "of a pinned session", "new"}
    assert set(Note.objects.values_list("text", flat=True)) == left
    indexed = SearchDocument.objects.filter(kind=SearchDocument.NOTE).values_list("text", flat=True)
    assert set(indexed) == left
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.target, entry.after["notes"]) == ("retention.prune", "default notes", 3)

"""`prune --dry-run` says what `prune` then removes, and changes nothing."""

import re
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.utils import timezone

from recorder.models import (
    AuditEntry,
    EventRecord,
    JournalEvent,
    Note,
    OpenStream,
    Pin,
    Producer,
    Project,
    Pruning,
    QuarantinedLine,
    Session,
)
from recorder.notes import targets, write
from recorder.notes.write import Author
from recorder.operations.expiry.preview import preview
from tests.recorder.old_bodies import bodies, consolidate, play
from tests.support.build import line
from tests.support.long_loop import LongLoop
from tests.support.project_digest import records
from tests.support.small_loop import Loop

pytestmark = pytest.mark.django_db(transaction=True)
NOW = timezone.now()
LONG = "The common system prompt of all sessions. " * 40
COUNTS = ("lines", "size", "unconsolidated", "pinned", "open", "needed")


def whole(session, text=""):
    return list(map(line, Loop(session, "a.1").whole(f"{LONG} {session} {text}")))


def note(project, session, text, days, parent=None):
    target = targets.find(project.pk, session_id=session)
    written = write.add_note(project.pk, Author("ada"), target, text, parent=parent).note
    Note.objects.filter(pk=written.pk).update(created_at=NOW - timedelta(days=days))
    return written


@pytest.fixture
def aged(project):
    """Bodies that go and stay for each reason, sessions, notes and entries that are old and new."""
    Project.objects.filter(pk=project.pk).update(
        retention_days=30, record_days=60, note_days=30, audit_days=365
    )
    for name in ("a", "pinned", "b", "ancient"):  # of one producer: lines are encoded against each other
        play(project, whole(name), 40, "p")
    play(project, "09-process-killed-in-tool", 40)
    play(project, list(LongLoop(3).lines()), 40, "long")
    Pin.objects.create(project=project, session_id="pinned")
    consolidate()
    play(project, whole("unread"), 40, "q")
    play(project, whole("new"), 1, "r")
    play(project, [b'{"type": "TurnStart", "loop_id": "a.a.1"'], 1, "bad")
    Session.objects.update(last_event_at=NOW - timedelta(days=5))
    Session.objects.filter(session_id="ancient").update(last_event_at=NOW - timedelta(days=70))
    QuarantinedLine.objects.update(received_at=NOW - timedelta(days=8))
    producer = Producer.objects.get(name="p")
    OpenStream.objects.create(
        project=project, producer=producer, stream="0" * 32, changed_at=NOW - timedelta(days=8), state=b""
    )
    note(project, "ancient", "goes with its session", 50)
    old = note(project, "a", "old", 50)
    note(project, "a", "its reply", 40, parent=old)
    note(project, "a", "new", 5)
    for of, days in ((project, 400), (project, 10), (None, 400)):
        AuditEntry.objects.create(
            project=of, at=NOW - timedelta(days=days), actor_kind="command", action="rebuild"
        )
    project.refresh_from_db()
    return project


def prune(*options):
    out = StringIO()
    call_command("prune", *options, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_what_is_counted_is_what_goes(aged):
    found = preview(aged, NOW)
    ancient = EventRecord.objects.filter(session__session_id="ancient").count()
    sessions, notes = Session.objects.count(), Note.objects.count()
    entries = AuditEntry.objects.filter(action="rebuild", project=aged).count()
    assert found.content.lines > 0
    assert min(getattr(found.content, name) for name in COUNTS) > 0, "else this tests nothing"
    preview_text = prune("--dry-run")

    removed = prune()

    done = Pruning.objects.get()
    assert [getattr(found.content, name) for name in COUNTS] == [getattr(done, name) for name in COUNTS]
    assert (found.sessions, found.lines) == (sessions - Session.objects.count(), ancient) == (1, ancient)
    assert found.notes == notes - Note.objects.count() - 1 == 2, "one went with its session"
    assert found.entries == entries - AuditEntry.objects.filter(action="rebuild", project=aged).count() == 1
    bodies_gone = re.search(r"([\d,]+) bodies would be pruned \(([\d,]+) bytes\)", preview_text)
    assert f"{bodies_gone[1]} bodies pruned ({bodies_gone[2]} bytes)" in removed
    assert f"and 1 session with {ancient} lines of {found.size:,} bytes" in preview_text
    assert "and 2 notes" in preview_text
    assert "and 1 entry of the audit log\n" in preview_text
    assert "of all projects: 1 rejected line, 1 open stream, 1 entry of the audit log without" in preview_text
    assert "1 rejected line; 1 session; 2 notes; 1 open stream; 2 entries of the audit log" in removed


def test_nothing_is_changed(aged):
    before = records(aged), bodies(), list(AuditEntry.objects.values_list("pk", flat=True))
    prune("--dry-run")
    prune("--dry-run", "--project", aged.slug)
    assert (records(aged), bodies(), list(AuditEntry.objects.values_list("pk", flat=True))) == before
    assert not Pruning.objects.exists()
    assert QuarantinedLine.objects.count() == OpenStream.objects.count() == 1
    assert not JournalEvent.objects.exclude(pruned_on=None).exists()


def test_a_project_that_keeps_everything_loses_nothing(project):
    Project.objects.update(retention_days=None)
    play(project, whole("a"), 400, "p")
    consolidate()
    assert prune("--dry-run") == (
        "default: bodies are never deleted\n"
        "of all projects: 0 rejected lines, 0 open streams; nothing was changed\n"
    )

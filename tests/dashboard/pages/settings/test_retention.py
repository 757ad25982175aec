"""Periods on the settings page: their least values, what a shorter one deletes, and its confirmation."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import AuditEntry, JournalEvent, Membership, Note, Project, Session
from recorder.notes import targets, write
from recorder.notes.write import Author
from recorder.operations.retention_pins import pin
from tests.support.build import line
from tests.support.small_loop import Loop

URL = "/p/acme/settings/retention"


@pytest.fixture
def acme(db):
    project = Project.objects.create(slug="acme", retention_days=None)
    for name in ("one", "two"):
        ingest(Batch(project.pk, "p", None, list(map(line, Loop(name).whole("hello")))))
    write.add_note(project.pk, Author("ada"), targets.find(project.pk, session_id="one"), "words")
    old = timezone.now() - timedelta(days=400)
    Session.objects.filter(session_id="one").update(last_event_at=datetime(2026, 3, 3, tzinfo=UTC))
    Session.objects.filter(session_id="two").update(last_event_at=timezone.now())
    Note.objects.update(created_at=old)
    AuditEntry.objects.create(project=project, at=old, actor_kind="user", action="signin", actor="x")
    return project


@pytest.fixture
def admin(client, acme):
    user = User.objects.create_user("ada")
    Membership.objects.create(project=acme, user=user, role="admin")
    client.force_login(user)
    return client


def text_of(answer):
    return " ".join(re.sub(r"<[^>]+>", " ", answer.content.decode()).split())


def retention(kind):
    columns = {
        "content": "retention_days",
        "records": "record_days",
        "notes": "note_days",
        "audit": "audit_days",
    }
    return getattr(Project.objects.get(), columns[kind])


@pytest.mark.parametrize(
    ("kind", "days", "shown"),
    [
        ("records", "30", "1 session, the oldest of 3 March 2026"),
        ("notes", "30", "1 entry, the oldest of"),
        ("audit", "365", "1 entry, the oldest of"),
    ],
)
def test_a_shorter_period_says_what_it_deletes_and_takes_the_typed_name(admin, acme, kind, days, shown):
    preview = admin.post(URL, {"kind": kind, "days": days})
    assert preview.status_code == 200
    assert shown in text_of(preview)
    wrong = admin.post(URL, {"kind": kind, "days": days, "confirm": "acme!"})
    assert (wrong.status_code, retention(kind)) == (400, None)
    assert "Nothing was changed" in text_of(wrong)
    done = admin.post(URL, {"kind": kind, "days": days, "confirm": "acme"})
    assert (done.status_code, retention(kind)) == (302, int(days))
    entry = AuditEntry.objects.order_by("-pk").first()
    assert (entry.action, entry.before, entry.after) == (
        "audit.retention" if kind == "audit" else "retention.change",
        None,
        int(days),
    )


def test_content_that_goes_is_counted(admin, acme):
    lines = list(map(line, Loop("three").whole("hello")))
    ingest(Batch(acme.pk, "q", None, lines, received_at=timezone.now() - timedelta(days=40)))
    JournalEvent.objects.update(consolidated_at=timezone.now())
    preview = admin.post(URL, {"kind": "content", "days": "30"})
    assert f"{len(lines)} lines, the oldest of" in text_of(preview)


def test_a_period_that_deletes_nothing_or_is_longer_needs_no_confirmation(admin, acme):
    pin(Session.objects.get(session_id="one"), "ada")
    assert admin.post(URL, {"kind": "records", "days": "30"}).status_code == 302
    Session.objects.update(last_event_at=timezone.now() - timedelta(days=300))
    assert admin.post(URL, {"kind": "records", "days": "60"}).status_code == 302
    assert admin.post(URL, {"kind": "records", "days": ""}).status_code == 302
    assert retention("records") is None


@pytest.mark.parametrize(
    ("kind", "days", "least"),
    [("records", "6", 7), ("notes", "6", 7), ("audit", "364", 365), ("content", "0", 1)],
)
def test_each_kind_has_a_least_period(admin, acme, kind, days, least):
    for sent in (days, "-1", "x", "36501", "9" * 30):
        answer = admin.post(URL, {"kind": kind, "days": sent, "confirm": "acme"})
        assert (answer.status_code, retention(kind)) == (400, None)
        assert f"Enter {least} to 36500 days" in text_of(answer)
    assert admin.post(URL, {"kind": "other", "days": "30"}).status_code == 400


def test_by_default_only_content_expires(db):
    project = Project.objects.create(slug="new")
    assert (project.record_days, project.note_days, project.audit_days) == (None, None, None)
    assert project.retention_days == 30

"""The journal is append-only: the database rejects every change of a line."""

from datetime import UTC, date, datetime

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.journal import append, immutability
from recorder.journal.read import texts
from recorder.models import JournalEvent, Producer, Project
from tests.recorder.journal.tamper import tampering
from tests.support.build import agent_end, agent_start, line

pytestmark = pytest.mark.django_db(transaction=True)

LINES = [line(agent_start("s.a.1")), line(agent_end("s.a.1"))]
OTHER = {
    "id": 99,
    "project_id": 2,
    "producer_id": 2,
    "seq": 7,
    "kind": "flush",
    "received_at": datetime(2026, 1, 1, tzinfo=UTC),
    "size": 1,
    "masked": 3,
    "original": bytes(16),
    "pieces": "[1]",
    "own": b"{}",
    "pruned_on": date(2026, 1, 1),
}
PRUNED = {"own": bytes(16), "pieces": None, "pruned_on": date(2026, 1, 1)}


@pytest.fixture(autouse=True)
def recorded():
    project = Project.objects.create(slug="default")
    ingest(Batch(project.pk, "p", 0, LINES))
    other = Project.objects.create(slug="other")
    Producer.objects.create(project=other, name="q")


def row():
    return JournalEvent.objects.order_by("pk").values().first()


def refused(**columns):
    before = row()
    names = ", ".join(f"{name} = %s" for name in columns)
    with (
        pytest.raises(IntegrityError, match=immutability.SAYS),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(
            f"UPDATE recorder_journalevent SET {names} WHERE id = {before['id']}", [*columns.values()]
        )
    assert row() == before


def test_every_column_is_in_the_rule_or_may_be_set():
    columns = {field.column for field in JournalEvent._meta.concrete_fields}
    assert columns - {*immutability.FIXED, *immutability.BODY} == {"consolidated_at"}
    assert set(OTHER) == columns - {"consolidated_at"}


@pytest.mark.parametrize("name", OTHER)
def test_no_column_of_a_line_is_changed(name):
    refused(**{name: OTHER[name]})


@pytest.mark.parametrize("name", immutability.FIXED)
def test_who_prunes_a_line_changes_nothing_else_of_it(name):
    refused(**PRUNED, **{name: OTHER[name]})


def test_a_body_that_goes_leaves_its_fingerprint():
    refused(**PRUNED | {"own": b""})
    refused(**PRUNED | {"pieces": "[16]"})
    refused(own=bytes(16), pieces=None)


def test_a_pruned_line_is_not_changed_again():
    JournalEvent.objects.update(**PRUNED)
    refused(own=LINES[0], pieces=None, pruned_on=None)
    refused(**PRUNED | {"own": b"0123456789abcdef"})


def test_a_line_is_not_saved_anew():
    entry = JournalEvent.objects.first()
    with pytest.raises(IntegrityError, match=immutability.SAYS):
        entry.save()


def test_a_line_is_consolidated_once():
    (pk, other), now = JournalEvent.objects.values_list("pk", flat=True), timezone.now()
    append.mark_consolidated([pk], now)
    append.mark_consolidated([pk], datetime(2030, 1, 1, tzinfo=UTC))
    assert dict(JournalEvent.objects.values_list("pk", "consolidated_at")) == {pk: now, other: None}
    assert list(texts([pk, other]).values()) == LINES


def test_the_rule_comes_back_with_the_next_migration():
    with tampering():
        JournalEvent.objects.update(size=1)
    refused(size=2)
    immutability.keep()
    refused(size=2)


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no TRUNCATE")
def test_the_journal_is_not_truncated():
    before = JournalEvent.objects.count()
    for tables in (immutability.JOURNAL, "recorder_project"):
        with (
            pytest.raises(IntegrityError, match=immutability.TRUNCATE_SAYS),
            transaction.atomic(),
            connection.cursor() as cursor,
        ):
            cursor.execute(f"TRUNCATE {tables} CASCADE")
    assert JournalEvent.objects.count() == before

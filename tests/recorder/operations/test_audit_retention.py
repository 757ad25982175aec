"""The audit log's own retention: which entries are deleted, by whom, and which never."""

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from recorder.journal import immutability
from recorder.models import AuditEntry, AuditPruning, Project
from recorder.operations import audit, audit_retention
from recorder.operations.audit import Actor

pytestmark = pytest.mark.django_db
ADA = Actor("user", "ada", "10.0.0.1")
PRUNE = audit.command("prune")
YEAR = audit_retention.LEAST_DAYS


@pytest.fixture
def acme():
    return Project.objects.create(slug="acme")


def entry(project, days):
    """Record an entry as it was `days` ago; return its key."""
    return AuditEntry.objects.create(
        project=project, at=timezone.now() - timedelta(days=days), actor_kind="command", action="rebuild"
    ).pk


def left():
    return set(AuditEntry.objects.exclude(action__startswith="audit.").values_list("pk", flat=True))


def test_entries_never_expire_by_default(acme):
    old = entry(acme, 9_000)
    assert audit_retention.prune(acme, timezone.now(), PRUNE) == 0
    assert left() == {old}


@pytest.mark.parametrize("days", [0, 1, YEAR - 1, audit_retention.MOST_DAYS + 1])
def test_a_period_of_less_than_a_year_is_refused(acme, days):
    with pytest.raises(ValueError, match="365"):
        audit_retention.change(acme, days, ADA)
    acme.refresh_from_db()
    assert acme.audit_days is None
    assert not AuditEntry.objects.exists()


def test_a_change_of_the_period_is_an_entry(acme):
    audit_retention.change(acme, 730, ADA)
    audit_retention.change(acme, None, ADA)
    found = AuditEntry.objects.order_by("pk").values_list("action", "actor", "before", "after", "address")
    assert list(found) == [
        ("audit.retention", "ada", None, 730, "10.0.0.1"),
        ("audit.retention", "ada", 730, None, "10.0.0.1"),
    ]


def test_older_entries_are_deleted_and_the_run_is_an_entry(acme):
    gone, kept = [entry(acme, 800), entry(acme, 732)], [entry(acme, 729), entry(acme, 0)]
    other = entry(Project.objects.create(slug="other"), 5_000)
    audit_retention.change(acme, 730, ADA)
    assert audit_retention.prune(acme, timezone.now(), PRUNE) == len(gone)
    assert left() == {*kept, other}
    run = AuditEntry.objects.get(action="audit.prune")
    assert (run.project, run.actor_kind, run.actor, run.after["entries"]) == (acme, "command", "prune", 2)
    assert audit_retention.prune(acme, timezone.now(), PRUNE) == 0
    assert AuditEntry.objects.filter(action="audit.prune").count() == 1


def test_many_entries_are_deleted_in_batches(acme, monkeypatch):
    monkeypatch.setattr(audit_retention, "BATCH", 2)
    for _ in range(5):
        entry(acme, 500)
    audit_retention.change(acme, YEAR, ADA)
    assert audit_retention.prune(acme, timezone.now(), PRUNE) == 5
    assert left() == set()
    assert AuditPruning.objects.get().finished_at is not None


def test_an_interrupted_run_is_continued(acme):
    entry(acme, 500)
    acme.audit_days = YEAR
    acme.save()
    AuditPruning.objects.create(project=acme, before=timezone.now() - timedelta(days=900), entries=3)
    assert audit_retention.prune(acme, timezone.now(), PRUNE) == 4
    assert left() == set()
    assert AuditPruning.objects.get().finished_at is not None


def test_entries_without_a_project_expire_after_the_longest_period(acme):
    old, older = entry(None, 500), entry(None, 900)
    acme.audit_days = YEAR
    acme.save()
    other = Project.objects.create(slug="other")
    assert audit_retention.prune_without_project(timezone.now(), PRUNE) == 0  # the other keeps for ever
    other.audit_days = 730
    other.save()
    assert audit_retention.prune_without_project(timezone.now(), PRUNE) == 1
    assert left() == {old}
    assert older not in left()


def is_refused(which):
    """Delete an entry by SQL; say whether the database refused it."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"DELETE FROM {immutability.AUDIT} WHERE id = %s", [which])
    except IntegrityError as error:
        return immutability.AUDIT_SAYS in str(error)
    return False


@given(
    age=st.integers(0, 1_500).filter(lambda days: days not in (YEAR, 400)),
    before=st.sampled_from([None, 0, 400]),  # days ago; None: no run
    is_open=st.booleans(),
    is_its_own=st.booleans(),
    has_project=st.booleans(),
)
def test_the_database_permits_deletions_of_an_open_run_only(age, before, is_open, is_its_own, has_project):
    with transaction.atomic():
        acme, other = Project.objects.create(slug="acme"), Project.objects.create(slug="other")
        project = acme if has_project else None
        pk = entry(project, age)
        if before is not None:
            AuditPruning.objects.create(
                project=project if is_its_own else other,
                before=timezone.now() - timedelta(days=before),
                finished_at=None if is_open else timezone.now(),
            )
        may_go = before is not None and is_open and is_its_own and age > max(YEAR, before)
        assert is_refused(pk) is not may_go
        transaction.set_rollback(True)


def test_an_open_run_permits_no_change(acme):
    pk = entry(acme, 900)
    AuditPruning.objects.create(project=acme, before=timezone.now())
    with pytest.raises(IntegrityError, match=immutability.AUDIT_SAYS), transaction.atomic():
        AuditEntry.objects.filter(pk=pk).update(actor="nobody")


def test_the_command_prunes_the_log_too(acme, capsys):
    entry(acme, 500)
    entry(None, 500)
    audit_retention.change(acme, YEAR, ADA)
    call_command("prune")
    assert "2 entries of the audit log" in capsys.readouterr().out
    assert left() == set()


@pytest.mark.django_db(transaction=True)
def test_a_database_of_before_gets_todays_rule():
    """Entries recorded before the migration stay, and can be pruned after it."""
    MigrationExecutor(connection).migrate([("recorder", "0024_people")])
    try:
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO recorder_project (slug, title, created_at) VALUES ('a', '', %s)",
                [timezone.now()],
            )
    finally:
        call_command("migrate", "--no-input", verbosity=0)
    project = Project.objects.get(slug="a")
    pk = entry(project, 900)
    assert is_refused(pk)
    whole = {"sqlite": "REPLACE INTO {0} SELECT * FROM {0}", "postgresql": "TRUNCATE {0}"}[connection.vendor]
    with pytest.raises(IntegrityError, match=immutability.AUDIT_SAYS), connection.cursor() as cursor:
        cursor.execute(whole.format(immutability.AUDIT))
    AuditPruning.objects.create(project=project, before=timezone.now())
    assert not is_refused(pk)

"""A deleted project is gone with all that belonged to it; every other project stays as it was."""

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.core.management import call_command
from django.utils import timezone

from recorder.access import share_links, tokens
from recorder.access.share_links import Target, Terms
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.journal.batch import Closed
from recorder.models import (
    AuditEntry,
    JournalEvent,
    Membership,
    Project,
    ProjectDeletion,
    SavedView,
    Session,
)
from recorder.notes import targets, write
from recorder.notes.definitions import Draft, define
from recorder.notes.write import Author
from recorder.operations import audit, deletion
from recorder.operations.audit import COMMAND
from recorder.operations.integrity_check import findings
from recorder.operations.people import invites, project_deletion, projects
from recorder.operations.people.errors import Refused
from recorder.operations.scheduler import DELETE_PROJECTS, JOBS
from recorder.search import indexer, tables
from tests.phi_core.scenarios import FOLDER
from tests.support.build import line
from tests.support.project_digest import records
from tests.support.small_loop import Loop

pytestmark = pytest.mark.django_db(transaction=True)

NOW = timezone.now()
TAPES = ("01-tools-two-prompts", "03-parallel-judge", "05-sub-agents", "06-compaction-block-based")


def play(project, lines, producer="p", **options):
    return ingest(Batch(project.pk, producer, None, lines, received_at=NOW, **options))


def fill(project, user):
    """Record sessions of all kinds, and what people add to them."""
    for name in TAPES:
        play(project, (FOLDER / f"{name}.events.jsonl").read_bytes().splitlines(), name)
    play(project, list(map(line, Loop("own", "a.1").whole("hello"))))
    play(project, [b'{"type": "broken'])
    define(project, Draft("quality", "number", 1, 5), "ada")
    found = targets.find(project.pk, session_id="own")
    note = write.add_note(project.pk, Author("ada", user=user), found, "words").note
    write.add_note(project.pk, Author("ada", user=user), found, "an answer", parent=note)
    write.give_score(project.pk, Author("ada", user=user), found, "quality", 3)
    session = Session.objects.get(project=project, session_id="own")
    share_links.issue(project, user, Target("session", session.pk), Terms())
    tokens.issue(project, "ci", ["ingest"], user=user)
    invites.issue(project, "viewer", user, COMMAND, "")
    SavedView.objects.create(project=project, name="v", page="sessions", query="q=x", owner=user)
    call_command("consolidate", project=project.slug)
    indexer.run_all()


@pytest.fixture
def two(project):
    """Two projects with the same content; the second one must not change."""
    user = User.objects.create_user("ada")
    second = Project.objects.create(slug="second")
    for each in (project, second):
        Membership.objects.create(project=each, user=user, role="admin")
        fill(each, user)
    return project, second


def rows_of(project):
    return {
        model.__name__: model._default_manager.filter(project=project).count()
        for model in apps.get_app_config("recorder").get_models()
        if any(field.name == "project" for field in model._meta.fields)
    }


def totals():
    return {
        model.__name__: model._default_manager.count()
        for model in apps.get_app_config("recorder").get_models()
    }


def delete(project, **options):
    return project_deletion.finish(project_deletion.begin(project, COMMAND, **options))


def test_nothing_of_it_is_left_and_the_other_project_stays(two):
    project, second = two
    before, digest = rows_of(second), records(second)
    assert all(
        rows_of(project)[name] for name in ("JournalEvent", "Note", "Insight", "SearchDocument", "Spending")
    )
    entries = AuditEntry.objects.filter(project=project).count()

    done = delete(project)

    left = {name: number for name, number in rows_of(project).items() if number}
    assert left == {"AuditEntry": entries + 1, "ProjectDeletion": 1}
    assert rows_of(second) == before
    assert records(second) == digest
    assert not tables.exists(project.pk)
    assert tables.exists(second.pk)
    assert done.finished_at is not None
    assert (done.sessions, done.deleted) == (6, before["JournalEvent"])
    assert list(Project.objects.all()) == [second]
    assert list(findings()) == []


def test_its_rows_that_name_no_project_go_too(two):
    """What refers to a session, a loop or a note is counted over both projects: half of it is left."""
    before = totals()
    project, _ = two
    delete(project)
    after = totals()
    beside = {"AuditEntry", "ProjectDeletion", "Project", "DailyJob", "MaskingSettings"}
    for name in before.keys() - beside:
        assert after[name] * 2 == before[name], name


def test_each_transaction_is_bounded(two, monkeypatch):
    monkeypatch.setattr(project_deletion, "PORTION", 7)
    counts = []
    project, _ = two
    project_deletion.finish(project_deletion.begin(project, COMMAND), counts.append)
    assert len(counts) > JournalEvent.objects.count() / 7
    assert not JournalEvent.objects.filter(project=project).exists()


@pytest.mark.parametrize("after", [0, 1, 5, 20, 35])
def test_an_interrupted_deletion_is_resumed(two, monkeypatch, after):
    project, second = two
    digest = records(second)
    monkeypatch.setattr(project_deletion, "PORTION", 20)
    seen = []

    def stop(count):
        seen.append(count)
        if len(seen) > after:
            raise KeyboardInterrupt

    begun = project_deletion.begin(project, COMMAND)
    with pytest.raises(KeyboardInterrupt):
        project_deletion.finish(begun, stop)
    assert list(Project.objects.all()) == [second]
    assert ProjectDeletion.objects.get().finished_at is None
    indexer.run_all()  # the indexer goes on beside it

    (done,) = project_deletion.resume()

    assert not Session.objects.filter(project=project).exists()
    assert not JournalEvent.objects.filter(project=project).exists()
    assert done.finished_at is not None
    assert records(second) == digest
    assert project_deletion.resume() == []
    assert list(findings()) == []


def test_the_job_of_the_server_finishes_it(two, capsys):
    project, _ = two
    project_deletion.begin(project, COMMAND)
    call_command(*DELETE_PROJECTS.command)
    assert "finished 1 deletion of projects" in capsys.readouterr().out
    assert ProjectDeletion.objects.get().finished_at is not None
    assert DELETE_PROJECTS in JOBS


def test_a_session_that_is_being_deleted_goes_with_it(two):
    project, _ = two
    deletion.begin(project, deletion.find(project, ["own"]), COMMAND)
    delete(project)
    assert not Session.objects.filter(session_id__startswith="deleted").exists()


def test_a_batch_that_was_authenticated_before_is_refused_and_others_are_recorded(project):
    delete(project)
    with pytest.raises(Closed) as closed:
        play(project, list(map(line, Loop("own", "a.1").whole("hello"))))
    assert closed.value.code == "deleted"
    assert not JournalEvent.objects.exists()


def test_its_tokens_are_gone_and_its_name_is_free(project, token):
    bearer = tokens.issue(project, "ci", ["ingest", "read"])
    delete(project)
    assert tokens.look_up(bearer) is None
    assert tokens.find(bearer) is None
    again = projects.create(project.slug, "", COMMAND)
    assert again.pk != project.pk
    assert tokens.look_up(bearer) is None


def test_it_is_deleted_once(project):
    project_deletion.begin(project, COMMAND)
    with pytest.raises(Refused):
        project_deletion.begin(project, COMMAND)


def test_the_audit_log_says_what_was_deleted(two):
    project, _ = two
    sessions = Session.objects.filter(project=project).count()
    project_deletion.begin(project, audit.Actor("user", "ada"))
    entry = AuditEntry.objects.get(action="project.delete")
    assert (entry.actor, entry.target, entry.project_id) == ("ada", "default", project.pk)
    assert entry.before["sessions"] == sessions


def test_an_archived_project_records_nothing_but_what_was_acknowledged(project):
    lines = list(map(line, Loop("own", "a.1").whole("hello")))
    projects.archive(project, COMMAND)
    with pytest.raises(Closed) as closed:
        play(project, lines)
    assert closed.value.code == "archived"
    assert play(project, lines[:1], "q", waited=1).accepted == 1

    projects.restore(project, COMMAND)

    assert play(project, lines).accepted == len(lines)
    actions = AuditEntry.objects.order_by("pk").values_list("action", flat=True)
    assert list(actions) == ["project.archive", "project.restore"]


def test_archiving_twice_is_refused(project):
    with pytest.raises(Refused):
        projects.restore(project, COMMAND)
    projects.archive(project, COMMAND)
    with pytest.raises(Refused):
        projects.archive(project, COMMAND)

"""`session delete` says what will go, asks, and deletes."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import AuditEntry, Session
from recorder.operations import deletion
from recorder.operations.audit import COMMAND
from tests.support.build import line
from tests.support.small_loop import Loop

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def recorded(project):
    for name in ("one", "two"):
        ingest(Batch(project.pk, name, None, list(map(line, Loop(name).whole("hello")))))
    return project


def run(*words):
    out = StringIO()
    call_command("session", *words, stdout=out)
    return out.getvalue()


def test_it_deletes_without_confirmation_with_yes(recorded):
    output = run("delete", "one", "--yes")
    assert "one: 1 loop, 8 events" in output
    assert "deleted: 1 session: 1 loop, 8 events" in output
    assert Session.objects.get().session_id == "two"
    assert AuditEntry.objects.get().actor_kind == "command"


@pytest.mark.parametrize(("typed", "is_deleted"), [("one", True), ("yes", False), ("", False)])
def test_it_asks_for_the_id(recorded, monkeypatch, typed, is_deleted):
    monkeypatch.setattr("builtins.input", lambda _: typed)
    if is_deleted:
        run("delete", "one")
    else:
        with pytest.raises(CommandError, match="nothing was deleted"):
            run("delete", "one")
    assert Session.objects.filter(session_id="one").exists() != is_deleted


@pytest.mark.parametrize("words", [("nowhere",), ("one", "--project", "none")])
def test_what_is_not_there_is_an_error(recorded, words):
    with pytest.raises(CommandError, match=r"(?i)there is no"):
        run("delete", *words, "--yes")
    assert Session.objects.count() == 2


def test_it_finishes_what_was_interrupted(recorded):
    deletion.begin(recorded, deletion.find(recorded, ["one"]), COMMAND)
    assert run("resume") == "finished 1 deletion\n"
    assert run("resume") == "finished 0 deletions\n"


def test_all_sessions_of_a_query_are_deleted(recorded, monkeypatch):
    for n in range(3):
        events = [
            {**event, **({"metadata": {"user": "ada"}} if "agent_id" in event else {})}
            for event in Loop(f"of-ada-{n}").whole("hello")
        ]
        ingest(Batch(recorded.pk, f"ada{n}", None, list(map(line, events))))
    assert Session.objects.count() == 5
    monkeypatch.setattr("builtins.input", lambda _: "5")
    with pytest.raises(CommandError, match="nothing was deleted"):
        run("delete", "--query", "user:ada")
    monkeypatch.setattr("builtins.input", lambda _: "3")
    monkeypatch.setattr("dashboard.management.commands.session.AT_ONCE", 2)
    output = run("delete", "--query", "user:ada")
    assert "3 sessions of default match user:ada" in output
    assert "deleted: 3 sessions: 3 loops, 24 events" in output
    assert set(Session.objects.values_list("session_id", flat=True)) == {"one", "two"}
    assert AuditEntry.objects.filter(action="session.delete").count() == 3
    assert "0 sessions" in run("delete", "--query", "user:ada")
    assert "1 session of default matches session:one" in run("delete", "--query", "session:one", "--yes")


@pytest.mark.parametrize("words", [("one", "--query", "user:ada"), (), ("--query", " ", "--yes")])
def test_one_way_to_name_sessions_is_needed_and_an_empty_query_deletes_nothing(recorded, words):
    with pytest.raises(CommandError):
        run("delete", *words)
    assert Session.objects.count() == 2


def test_a_query_in_error_deletes_nothing(recorded):
    with pytest.raises(SystemExit):
        run("delete", "--query", "nonsense:(", "--yes")
    assert Session.objects.count() == 2

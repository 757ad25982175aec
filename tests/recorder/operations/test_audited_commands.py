"""Every command that changes something writes an entry in its own name; the others have a reason."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.utils import timezone

from dashboard.management.commands.up import sign_in_secret
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import AuditEntry, JournalEvent, Project, ScoreDefinition
from recorder.operations import retention
from recorder.operations.audit_actions import ACTIONS
from tests.architecture.tree import ROOT
from tests.support.build import line
from tests.support.small_loop import Loop

pytestmark = pytest.mark.django_db(transaction=True)
FILE = ROOT / "tests/tapes/phi-core/03-parallel-judge.events.jsonl"
TOKEN = {"name": "ci", "scopes": ["ingest"]}
RUNS = {  # words of the command, its action, target, before and after; None is any target
    ("project", "create", "second", "--title", "Second"): ("project.create", "second", None, "Second"),
    ("project", "archive", "default"): ("project.archive", "default", None, None),
    ("project", "delete", "default", "--yes"): ("project.delete", "default", ..., None),
    ("token", "create", "--name", "ci", "--scopes", "ingest"): ("token.create", None, None, TOKEN),
    ("token", "revoke", "old"): ("token.revoke", None, {"name": "old"}, None),
    ("score", "create", "kind", "--kind", "boolean"): ("score.define", "kind", None, {"kind": "boolean"}),
    ("score", "delete", "given"): ("score.remove", "given", {"kind": "boolean"}, None),
    ("session", "delete", "one", "--yes"): ("session.delete", "one", ..., None),
    ("export_session", "one"): ("session.export", "one", None, {"as": "phi-session"}),
    ("rebuild", "--force"): ("rebuild", "default", None, {"lines": 8}),
    ("reprice",): ("price.reprice", "all", None, None),
    ("reprice", "--model", "m", "--provider", "p"): ("price.reprice", "m p", None, None),
    ("demo", "--remove"): ("demo.remove", "default", {"sessions": 0}, None),
    ("import_runs", str(FILE)): ("import", FILE.name, None, ...),
    ("signin_link", "--user", "ada"): ("signin.link", "ada", None, None),
}
WRITES_NONE = {
    "check_integrity": "it reads",
    "consolidate": "it derives insights and deletes nothing; a person's request is an entry",
    "index": "it derives the search index",
    "search": "it reads",
    "tail": "it sends lines, as every agent does",
}
ELSEWHERE = {
    "prune": "below, and in test_audit_retention.py",
    "up": "below: it serves",
    "mask": "test_mask_command.py",
    "user": "test_people_commands.py",
    "member": "test_people_commands.py",
    "spans": "test_spans_set_aside.py",
}


@pytest.fixture
def recorded(project):
    ingest(Batch(project.pk, "p", None, list(map(line, Loop("one").whole("hello")))))
    call_command("token", "create", "--name", "old")
    call_command("score", "create", "given", "--kind", "boolean")
    User.objects.create_user("ada")
    return AuditEntry.objects.order_by("-pk").values_list("pk", flat=True).first()


def is_like(found, expected):
    return found is not None if expected is ... else found == expected


@pytest.mark.parametrize("words", RUNS, ids=" ".join)
def test_it_writes_one_entry(recorded, capsys, words):
    call_command(*words)
    action, target, before, after = RUNS[words]
    entry = AuditEntry.objects.get(pk__gt=recorded)
    assert (entry.action, entry.actor_kind, entry.actor, entry.address) == (action, "command", words[0], "")
    assert target is None or entry.target == target
    assert is_like(entry.before, before), entry.before
    assert is_like(entry.after, after), entry.after
    assert (entry.project is None) == (action == "signin.link")


@pytest.mark.parametrize(
    "words",
    [("project", "list"), ("token", "list"), ("score", "list"), ("import_runs", str(FILE))],
    ids=" ".join,
)
def test_what_changes_nothing_is_no_entry(recorded, capsys, words):
    call_command(*words)
    before = AuditEntry.objects.count()
    call_command(*words)
    assert AuditEntry.objects.count() == before


@pytest.mark.parametrize(
    "words", [("project", "create", "default"), ("token", "revoke", "no"), ("score", "create", "given")]
)
def test_what_is_refused_is_no_entry(recorded, capsys, words):
    with pytest.raises(CommandError):
        call_command(*words)
    assert not AuditEntry.objects.filter(pk__gt=recorded).exists()
    assert ScoreDefinition.objects.count() == Project.objects.count() == 1


def test_pruned_content_is_an_entry_of_its_run(project, recorded):
    JournalEvent.objects.update(consolidated_at=timezone.now())
    later = timezone.now() + timedelta(days=60)
    done = retention.prune(project, later)
    entry = AuditEntry.objects.get(action="retention.prune")
    assert (entry.actor_kind, entry.actor, entry.project) == ("command", "prune", project)
    assert entry.after == {"lines": done.lines, "bytes": done.size, "before": f"{done.before:%Y-%m-%d}"}
    retention.prune(project, later)
    assert AuditEntry.objects.filter(action="retention.prune").count() == 1


def test_the_link_that_a_start_prints_is_an_entry(db):
    sign_in_secret(User.objects.create_user("ada"))
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.actor, entry.target, entry.project) == ("signin.link", "up", "ada", None)


def test_a_name_in_two_projects_is_revoked_in_both(recorded, capsys):
    call_command("project", "create", "second")
    call_command("token", "create", "--project", "second", "--name", "old")
    call_command("token", "revoke", "old")
    found = AuditEntry.objects.filter(action="token.revoke").values_list("project__slug", flat=True)
    assert sorted(found) == ["default", "second"]


def test_every_command_is_listed():
    folders = (ROOT / "recorder/management/commands", ROOT / "dashboard/management/commands")
    commands = {file.stem for folder in folders for file in Path(folder).glob("*.py")} - {"__init__"}
    assert commands == {words[0] for words in RUNS} | set(WRITES_NONE) | set(ELSEWHERE)
    assert {action for action, *_ in RUNS.values()} <= set(ACTIONS)

"""A deletion that is killed leaves every other line readable, and ends as if undisturbed when resumed."""

import random
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.journal.read import texts
from recorder.journal.removal import lines as removal_lines
from recorder.models import Deletion, EventRecord, JournalEvent, Project, Session
from recorder.operations import deletion
from recorder.operations.audit import COMMAND
from recorder.operations.integrity_check import findings
from recorder.projection.rebuild import rebuild
from tests.phi_core.scenarios import FOLDER
from tests.recorder.interruptions import Kill, Killed
from tests.support.build import line
from tests.support.project_digest import records
from tests.support.small_loop import Loop

pytestmark = pytest.mark.django_db(transaction=True)
ROOT = Path(__file__).parents[3]
TAPES = ("01-tools-two-prompts", "02-continue-rerun-branch", "05-sub-agents", "06-compaction-block-based")


def play(project, lines, producer="p"):
    ingest(Batch(project.pk, producer, None, lines))


def stored(project):
    rows = JournalEvent.objects.filter(project=project, size__gt=0).order_by("pk")
    return texts(rows.values_list("pk", flat=True))


def sessions_of_one_producer(project):
    """Record sessions that repeat each other's texts; return the lines of those that stay."""
    loops = [Loop(name, "a.1").whole(f"{'The same long prompt. ' * 40}{name}") for name in "abcd"]
    for events in loops:
        play(project, list(map(line, events)))
    return [line(event) for events in loops if events[0]["session_id"] != "a" for event in events]


def test_killed_at_any_statement_it_is_resumed(project, monkeypatch):
    monkeypatch.setattr(removal_lines, "DELETED", 3)
    monkeypatch.setattr(removal_lines, "SCANNED", 4)
    others = sessions_of_one_producer(project)
    chances, kills = random.Random(7), 0
    deletion.begin(project, deletion.find(project, ["a"]), COMMAND)
    while not Deletion.objects.get().finished_at:
        try:
            with connection.execute_wrapper(Kill(chances.randint(1, 30))):
                deletion.resume()
        except Killed:
            kills += 1
        assert [raw for raw in stored(project).values() if raw in others] == others
        assert kills < 500
    assert kills > 3
    assert list(stored(project).values()) == others
    assert not Session.objects.exclude(project=project).exists()
    assert list(findings()) == []


def test_killed_while_it_hides_the_session_it_changed_nothing(project):
    sessions_of_one_producer(project)
    before, lines = records(project), stored(project)
    chances, kills = random.Random(3), 0
    for _ in range(12):
        try:
            with connection.execute_wrapper(Kill(chances.randint(1, 25))):
                deletion.begin(project, deletion.find(project, ["a"]), COMMAND)
        except Killed:
            kills += 1
        else:
            pytest.fail("it was not killed")
        assert (records(project), stored(project)) == (before, lines)
    assert kills == 12


@pytest.mark.sqlite
def test_a_process_that_is_killed_leaves_a_file_that_is_finished_and_has_no_byte_of_it(tmp_path):
    """A process deletes from a file, is killed after its first portion, and another one goes on."""
    planted = "zanzibar-lighthouse-9417"
    script = PROCESS.format(planted=planted)
    environment = {"LOOPSCOPE_DATA": str(tmp_path), "DJANGO_SETTINGS_MODULE": "dashboard.settings"}

    def run(mode):
        return subprocess.run(
            [sys.executable, "-c", script, mode],
            env=environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )

    made = run("record")
    assert made.returncode == 0, made.stderr
    assert planted.encode() in _bytes(tmp_path)
    killed = run("kill")
    assert killed.returncode == -9, killed.stderr
    assert planted.encode() in _bytes(tmp_path)
    done = run("finish")
    assert done.returncode == 0, done.stderr
    assert planted.encode() not in _bytes(tmp_path)
    assert b"the other session" in _bytes(tmp_path)


def _bytes(folder):
    return b"".join(path.read_bytes() for path in sorted(folder.glob("*.sqlite3*")))


PROCESS = """
import os, signal, sys
import django
django.setup()
from django.core.management import call_command
from django.db import connection
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.journal.removal import lines
from recorder.models import Deletion, JournalEvent, Project, Session
from recorder.operations import deletion
from recorder.operations.audit import COMMAND
from tests.support.build import line
from tests.support.small_loop import Loop

mode = sys.argv[1]
if mode == "record":
    call_command("migrate", verbosity=0)
    project = Project.objects.create(slug="p")
    for name, text in (("gone", "{planted}"), ("stays", "the other session")):
        for turn in range(3):
            loop = Loop(name, f"a.{{turn}}")
            ingest(Batch(project.pk, "p", None, list(map(line, loop.whole("The same prompt. " * 40 + text)))))
elif mode == "kill":
    lines.DELETED = 5
    own = lines.delete_some
    def once(*args):
        own(*args)
        os.kill(os.getpid(), signal.SIGKILL)
    lines.delete_some = once
    deletion.delete_session(Project.objects.get(), "gone", COMMAND)
else:
    assert not Session.objects.filter(project__slug="p", session_id="gone").exists()
    assert JournalEvent.objects.exists() and not Deletion.objects.get().finished_at
    assert len(deletion.resume()) == 1
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    call_command("check_integrity")
"""


@hypothesis_settings(max_examples=12)
@given(
    tapes=st.permutations(TAPES),
    producers=st.lists(st.sampled_from("pq"), min_size=4, max_size=4),
    chance=st.randoms(use_true_random=False),
)
def test_whatever_is_deleted_the_rest_stays_and_is_rebuilt_equal(tapes, producers, chance):
    project = Project.objects.create(slug=f"p{Project.objects.count()}-{chance.random()}"[:60])
    for name, producer in zip(tapes, producers, strict=True):
        play(project, (FOLDER / f"{name}.events.jsonl").read_bytes().splitlines(), f"{producer}-{project.pk}")
    names = list(Session.objects.filter(project=project).order_by("pk").values_list("session_id", flat=True))
    for name in chance.sample(names, chance.randint(1, len(names))):
        if not Session.objects.filter(project=project, session_id=name).exists():
            continue  # it went with another one
        lines = stored(project)
        gone = deletion.find(project, [name], with_sub_agents=chance.random() < 0.5)
        of_gone = set(EventRecord.objects.filter(session__in=gone).values_list("pk", flat=True))
        for each in deletion.begin(project, gone, COMMAND):
            deletion.finish(each)
        assert stored(project) == {pk: raw for pk, raw in lines.items() if pk not in of_gone}
    assert list(findings()) == []
    left = records(project)
    rebuild(project)
    assert records(project) == left

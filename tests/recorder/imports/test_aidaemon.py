"""aidaemon's rows by endpoint and import: tasks, approvals, sub-agents, and missing or damaged rows."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from io import StringIO
from itertools import count
from pathlib import Path
from threading import Event

import pytest
from django.core.management import CommandError, call_command

from recorder.core.formats.aidaemon.events import TRANSLATORS
from recorder.journal.read import texts
from recorder.management.commands import import_runs
from recorder.models import (
    Anomaly,
    Approval,
    ChildLoopRef,
    EventRecord,
    JournalEvent,
    LoopRecord,
    Project,
    Session,
    ToolCall,
    Turn,
)
from recorder.operations.integrity_check import findings
from tests.support.foreign_tapes import TAPES, send
from tests.support.project_digest import digest
from tests.support.wait import LONGEST_S, until

pytestmark = pytest.mark.django_db(transaction=True)

ROOT = Path(__file__).parents[3]
STORE = TAPES / "aidaemon" / "events.hand-made.db"
PHONE, SLACK = "telegram:881234567", "slack:C0123:U77"


@pytest.fixture
def store(tmp_path):
    return shutil.copyfile(STORE, tmp_path / "aidaemon.db")


def bring_in(*paths, **options):
    output = StringIO()
    call_command("import_runs", *map(str, paths), stdout=output, stderr=output, **options)
    return output.getvalue()


def rows(table="events"):
    """Return the rows of the tape's store as lines."""
    with closing(sqlite3.connect(STORE)) as base:
        base.row_factory = sqlite3.Row
        named = {} if table == "events" else {"table": table}
        found = base.execute(f"SELECT * FROM {table} ORDER BY id").fetchall()
    return [json.dumps({**named, **dict(row)}).encode() for row in found]


def row(kind, number=1, session="s", **data):
    at = f"2026-03-20T08:00:{number:02}.000000001+00:00"
    about = {"id": number, "session_id": session, "event_type": kind, "created_at": at}
    return json.dumps({**about, "data": json.dumps(data)}).encode()


def insert(store, kind, session=PHONE, **data):
    with closing(sqlite3.connect(store)) as base, base:
        base.execute(
            "INSERT INTO events (session_id, event_type, data, created_at) VALUES (?, ?, ?, ?)",
            (session, kind, json.dumps(data), "2026-03-20T09:00:00.0+00:00"),
        )


def test_tasks_are_loops_and_thinking_iterations_turns(project):
    bring_in(STORE)
    phone, child, slack = (
        Session.objects.get(session_id=key)
        for key in (PHONE, "sub-1-c1d3fcff-2a3a-44d4-ab0a-18e8830e07bc", SLACK)
    )
    assert {session.source for session in (phone, child, slack)} == {"aidaemon"}
    first, second = phone.loop_records.order_by("pk")
    assert (first.title, first.outcome, first.turns, first.tool_calls) == (
        "How much disk is free on the server?",
        "completed",
        2,
        1,
    )
    assert (second.parent, second.continuation_kind, second.turns, second.errors) == (first, "Default", 3, 1)
    used = list(
        Turn.objects.filter(loop=first)
        .order_by("ordinal")
        .values_list("turn_index", "model", "input_tokens", "output_tokens")
    )
    assert used == [(0, "gemini-2.5-flash", 3120, 48), (1, "gemini-2.5-flash", 3300, 35)]
    tool = ToolCall.objects.get(loop=first)
    assert (tool.tool_name, tool.summary, tool.duration_ms, tool.times_received) == (
        "terminal",
        "df -h",
        120,
        False,
    )
    assert phone.scope == "persistent"
    assert not Anomaly.objects.exists()
    assert list(findings()) == []


def test_approvals_are_matched_by_their_command(project):
    bring_in(STORE)
    decided = Approval.objects.order_by("pk").values_list(
        "command", "risk", "decision", "decision_scope", "inferred"
    )
    assert list(decided) == [
        ("df -h", "low", "granted", "session", False),
        ("docker system prune -af", "high", "denied", "", False),
        ("kubectl apply -f staging.yaml", "medium", "", "", False),
    ]
    assert Session.objects.get(session_id=SLACK).waiting == 1


def test_a_sub_agent_is_tied_to_the_call_that_ran_then_and_marked_as_inferred(project):
    bring_in(STORE)
    ref = ChildLoopRef.objects.get()
    assert (ref.tool_name, ref.tool_call_id, ref.certainty) == ("spawn_agent", "call_3", "inferred")
    assert ref.child.session.title == "Why do images pile up?"
    assert ref.child.role == "sub_agent"


def test_a_task_that_the_watchdog_ended_failed(project):
    bring_in(STORE)
    loop = LoopRecord.objects.get(session__session_id=SLACK, title="Deploy staging")
    assert (loop.outcome, loop.error[:11]) == ("failed", "Auto-failed")


def test_usage_rows_are_checked_against_the_responses(project):
    extra = {
        "table": "token_usage",
        "id": 8,
        "session_id": PHONE,
        "model": "gemini-2.5-flash",
        "input_tokens": 11,
        "output_tokens": 2,
    }
    send(project, [*rows(), *rows("token_usage"), json.dumps(extra).encode()], "aidaemon")
    notices = [
        json.loads(raw)
        for raw in texts(EventRecord.objects.filter(type="Notice").values_list("pk", flat=True)).values()
    ]
    decided = [each["text"] for each in notices if each["kind"] == "call_without_answer"]
    assert decided == ["A call of gemini-2.5-flash without a response: 11 in, 2 out"]


def test_a_store_gives_only_what_is_new(project, store):
    bring_in(store)
    once = digest(project.pk)
    assert "0 new events" in bring_in(store)
    assert digest(project.pk) == once
    insert(
        store,
        "approval_granted",
        SLACK,
        command="kubectl apply -f staging.yaml",
        approval_type="once",
        task_id="7c26847f-0316-409e-bbbb-e9eaa8948c89",
    )
    assert "1 new event\n" in bring_in(store)
    assert Session.objects.get(session_id=SLACK).waiting == 0


def test_a_store_that_was_moved_is_the_same_and_another_one_at_its_path_is_not(project, store, tmp_path):
    bring_in(store)
    moved = shutil.move(store, tmp_path / "moved.db")
    assert "0 new events" in bring_in(moved)
    shutil.copyfile(STORE, store)
    with closing(sqlite3.connect(store)) as base, base:
        base.execute("UPDATE events SET session_id = 'other:' || id")
    assert "56 new events" in bring_in(store)


def test_consolidation_by_aidaemon_does_not_make_another_store_of_it(project, store):
    bring_in(store)
    with closing(sqlite3.connect(store)) as base, base:
        base.execute("UPDATE events SET consolidated_at = '2026-03-22T03:00:00+00:00'")
        base.execute("DELETE FROM events WHERE id < 20")
    assert "0 new events" in bring_in(store)


def test_rows_that_are_gone_at_the_front_are_no_error(project):
    send(project, rows()[8:], "aidaemon")
    words = [
        json.loads(raw)["text"]
        for raw in texts(EventRecord.objects.filter(type="Notice").values_list("pk", flat=True)).values()
    ]
    assert "History starts here: earlier rows of this task are gone." in words
    assert not Anomaly.objects.exists()
    assert LoopRecord.objects.order_by("pk").first().outcome == "completed"


@pytest.mark.parametrize(
    "line",
    [
        b'{"id":1,"session_id":"s","event_type":"task_start","data":"{oops","created_at":"2026-03-20T08:00:00Z"}',
        row("weather", sun=True),
        row("task_start"),
        row("tool_call", name="terminal"),
    ],
)
def test_a_row_that_cannot_be_read_is_stored_raw(project, line):
    send(
        project,
        [line, row("task_start", 2, task_id="t"), row("task_end", 3, task_id="t", status="completed")],
        "aidaemon",
    )
    assert LoopRecord.objects.get().status == "completed"
    stored = EventRecord.objects.filter(journal__kind="line").order_by("pk").first()
    assert (texts([stored.pk])[stored.pk], stored.origin, stored.session.session_id) == (line, "", "s")
    assert Anomaly.objects.get().kind == "unknown_type"


def test_every_type_that_aidaemon_writes_is_understood():
    assert len(TRANSLATORS) == 17


def test_wherever_the_rows_are_cut_and_however_often_they_come_the_records_are_the_same(project):
    other = Project.objects.create(slug="other")
    lines = [*rows(), *rows("token_usage")]
    send(project, lines, "aidaemon")
    send(other, lines, "aidaemon", cuts=range(1, len(lines)))
    shape = [
        list(
            LoopRecord.objects.filter(session__project=each)
            .order_by("pk")
            .values_list("loop_id", "status", "turns", "tool_calls", "input_tokens", "events")
        )
        for each in (project, other)
    ]
    assert shape[0] == shape[1]
    once = digest(other.pk)
    send(other, lines, "aidaemon")
    call_command("rebuild", stdout=StringIO(), stderr=StringIO())
    assert digest(other.pk) == once


def test_a_file_with_an_events_table_of_another_kind_is_named(project, tmp_path):
    path = tmp_path / "wrong.db"
    with closing(sqlite3.connect(path)) as base, base:
        base.execute("CREATE TABLE events (id INTEGER, what TEXT)")
    with pytest.raises(CommandError):
        bring_in(path)
    assert not JournalEvent.objects.exists()


def test_what_is_written_during_the_first_import_is_followed(project, store, monkeypatch):
    real, stopping = import_runs.Command._import, Event()

    def imported(self, *arguments, **named):
        answer = real(self, *arguments, **named)
        if JournalEvent.objects.filter(kind="line").count() == 56:
            insert(store, "user_message", content="and now?")
        else:
            stopping.set()
        return answer

    monkeypatch.setattr(import_runs.Command, "_import", imported)
    monkeypatch.setattr(import_runs, "Event", lambda: stopping)
    monkeypatch.setattr(import_runs, "POLL_S", 0.01)
    monkeypatch.setattr(stopping, "wait", lambda _: stopping.is_set() or next(polls) > 50)
    polls = count()
    call_command("import_runs", store, follow=True, stdout=StringIO(), stderr=StringIO())
    assert JournalEvent.objects.filter(kind="line").count() == 57


@pytest.mark.slow
def test_a_store_is_followed_while_its_program_writes(project, store, tmp_path):
    environment = os.environ | {
        "LOOPSCOPE_DATA": str(tmp_path / "data"),
        "DJANGO_SETTINGS_MODULE": "dashboard.settings",
    }
    environment.pop("DATABASE_URL", None)
    (tmp_path / "data").mkdir()
    for command in (["migrate", "-v0"], ["project", "create", "default"]):
        subprocess.run([sys.executable, "manage.py", *command], env=environment, check=True, cwd=ROOT)
    command = [sys.executable, "manage.py", "import_runs", str(store), "--follow"]
    with subprocess.Popen(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True) as following:
        base = tmp_path / "data" / "loopscope.sqlite3"
        try:
            until(lambda: lines_in(base) == 56)
            insert(store, "user_message", content="and now?")
            until(lambda: lines_in(base) == 57)
            following.send_signal(signal.SIGTERM)
            following.communicate(timeout=LONGEST_S)
        finally:
            following.kill()  # else the test would wait for it for ever


def lines_in(base):
    with closing(sqlite3.connect(base)) as recorded:
        return recorded.execute("SELECT count(*) FROM recorder_journalevent WHERE kind = 'line'").fetchone()[
            0
        ]

"""cagent's stores by import_runs: every schema version, grown, damaged, and after a live recording."""

import json
import shutil
import sqlite3
from contextlib import closing
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from recorder.journal.read import texts
from recorder.models import (
    Anomaly,
    EventRecord,
    JournalEvent,
    LoopRecord,
    Project,
    Session,
    ToolCall,
    Turn,
)
from recorder.operations.integrity_check import findings
from tests.support.foreign_tapes import TAPES as FOLDER
from tests.support.foreign_tapes import send, tape
from tests.support.project_digest import digest

pytestmark = pytest.mark.django_db(transaction=True)


TASK = "cagent/transfer-task.reconstructed.events.jsonl"


TURNS = "cagent/two-turns.reconstructed.events.jsonl"


TAPES_OF = FOLDER / "cagent"


STORES = {
    "one-session.v15.db": 1,
    "two-sessions.v13.db": 2,
    "transfer-task.v13.db": 2,
    "transfer-task.v19.db": 2,
    "long-session.v15.db": 1,
}


def bring_in(*paths, **options):
    """Import files; return what the command says."""
    output = StringIO()
    call_command("import_runs", *map(str, paths), stdout=output, stderr=output, **options)
    return output.getvalue()


def history(session):
    """Return what a reader sees of a session, to the second."""
    loops = [
        (loop.status, loop.outcome, loop.title, loop.turns, loop.tool_calls, loop.cost_nano)
        for loop in session.loop_records.order_by("pk")
    ]
    turns = Turn.objects.filter(loop__session=session).order_by("loop", "ordinal")
    tools = ToolCall.objects.filter(loop__session=session).order_by("pk")
    return (
        session.title,
        loops,
        [(turn.model, turn.input_tokens, turn.output_tokens, turn.cost_nano) for turn in turns],
        [(tool.tool_name, tool.state, tool.summary, tool.turn.ordinal) for tool in tools],
    )


@pytest.mark.parametrize(("name", "sessions"), STORES.items())
def test_a_store_of_any_generation_is_imported_once(project, name, sessions):
    bring_in(TAPES_OF / name)
    assert Session.objects.count() == sessions
    assert set(Session.objects.values_list("source", "status")) == {("cagent", "completed")}
    assert not Anomaly.objects.exists()
    assert list(findings()) == []
    once = digest(project.pk)
    bring_in(TAPES_OF / name)
    assert digest(project.pk) == once


@pytest.mark.parametrize(
    ("name", "stream"),
    [("transfer-task.v13.db", TASK), ("transfer-task.v19.db", TASK), ("two-sessions.v13.db", TURNS)],
)
def test_the_store_and_the_stream_of_a_session_give_the_same_history(project, name, stream):
    send(project, tape(stream), "cagent")
    streamed = {session.session_id: history(session) for session in Session.objects.all()}
    other = Project.objects.create(slug="other")
    bring_in(TAPES_OF / name, project="other")
    stored = Session.objects.filter(project=other, session_id__in=streamed)
    assert {session.session_id: history(session) for session in stored} == streamed


def test_lines_before_a_stream_belong_to_its_loop(project):
    """In a store the message of a person is a row before anything began; so is a system prompt."""
    bring_in(TAPES_OF / "transfer-task.v19.db")
    rows = EventRecord.objects.filter(journal__kind="line")
    assert not rows.filter(session=None).exists()
    sessions = Session.objects.order_by("pk")
    first = [rows.filter(session=session).order_by("pk").first() for session in sessions]
    assert [each.loop.loop_id for each in first] == [f"{each.session.session_id}.1" for each in first]
    assert [json.loads(texts([each.pk])[each.pk])["message"]["role"] for each in first] == ["user", "system"]


def test_what_a_store_says_is_added_up_from_its_messages_not_from_its_own_sum(project):
    """The stored figure is 0.0879; its messages sum to 0.0206 and those of the sub-session to 0.0811."""
    bring_in(TAPES_OF / "transfer-task.v19.db")
    parent, child = Session.objects.order_by("pk")
    assert (parent.cost_nano, child.cost_nano) == (20_630_450, 57_249_100 + 23_884_250)
    assert (parent.cost_source, child.cost_source) == ("reported", "reported")


def test_a_store_that_has_grown_gives_what_is_new(project, tmp_path):
    store = tmp_path / "session.db"
    shutil.copyfile(TAPES_OF / "one-session.v15.db", store)
    bring_in(store)
    with closing(sqlite3.connect(store)) as grown, grown:
        session = grown.execute("SELECT id FROM sessions").fetchone()[0]
        for position, message in enumerate(GREETING, start=2):
            row = (session, position, "message", "", json.dumps(message))
            grown.execute(
                "INSERT INTO session_items (session_id, position, item_type, agent_name, message_json)"
                " VALUES (?, ?, ?, ?, ?)",
                row,
            )
    output = bring_in(store)
    assert "1 new loop," in output
    first, second = LoopRecord.objects.order_by("pk")
    assert (second.parent, second.title, second.output_tokens) == (first, "again", 7)


GREETING = (
    {"role": "user", "content": "again", "created_at": "2026-02-04T10:00:00Z"},
    {
        "role": "assistant",
        "content": "Hello again.",
        "created_at": "2026-02-04T10:00:02Z",
        "usage": {"input_tokens": 3, "output_tokens": 7},
        "model": "m",
        "cost": 0.001,
    },
)


def test_a_session_that_came_live_is_not_imported_again(project):
    send(project, tape(TASK), "cagent")
    once = digest(project.pk)
    assert "1 loop were already recorded" in bring_in(TAPES_OF / "transfer-task.v19.db")
    assert digest(project.pk) == once


def test_the_write_ahead_log_of_a_store_in_use_is_read_and_left_alone(project, tmp_path):
    store = tmp_path / "session.db"
    shutil.copyfile(TAPES_OF / "one-session.v15.db", store)
    with closing(sqlite3.connect(store)) as used:
        used.execute("PRAGMA journal_mode = WAL")
        used.execute("UPDATE sessions SET title = 'In the log'")
        used.commit()
        files = [store, tmp_path / "session.db-wal"]
        before = [path.read_bytes() for path in files]
        bring_in(store)
        after = [path.read_bytes() for path in files]
    assert Session.objects.get().title == "In the log"
    assert after == before


def test_a_row_that_holds_no_json_is_named_and_the_rest_is_imported(project, tmp_path):
    store = tmp_path / "session.db"
    shutil.copyfile(TAPES_OF / "one-session.v15.db", store)
    with closing(sqlite3.connect(store)) as broken, broken:
        broken.execute("UPDATE session_items SET message_json = '{oops' WHERE position = 0")
    with pytest.raises(CommandError):
        bring_in(store)
    assert Turn.objects.count() == 1
    first_line = JournalEvent.objects.filter(kind="line").order_by("pk").first()
    assert json.loads(texts([first_line.pk])[first_line.pk])["message_json"] == "{oops"


@pytest.mark.parametrize("cut", [100, 5000])
def test_a_store_that_is_cut_off_is_refused_with_a_remedy(project, tmp_path, cut):
    store = tmp_path / "session.db"
    store.write_bytes((TAPES_OF / "transfer-task.v19.db").read_bytes()[:cut])
    with pytest.raises(CommandError):
        bring_in(store)
    assert not JournalEvent.objects.exists()


def test_an_event_file_is_detected_by_its_first_event(project):
    assert "1 new session," in bring_in(TAPES_OF / "two-turns.reconstructed.events.jsonl")
    assert Session.objects.get().source == "cagent"
    assert "0 new sessions" in bring_in(TAPES_OF / "two-turns.reconstructed.events.jsonl")

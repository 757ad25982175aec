"""The lines of a session of OpenCode while an answer is being written."""

import json
import sqlite3
from contextlib import closing
from itertools import pairwise

import pytest

from loopscope_client.push.streams import SessionSource
from loopscope_client.transcripts import opencode

TEXT = {"type": "text", "text": "I run them", "time": {"start": 1, "end": 2}}
CALL = {"type": "tool", "callID": "c1", "tool": "bash"}
STARTED = {"status": "running", "input": {"command": "make test"}, "time": {"start": 3}}
ENDED = STARTED | {"status": "completed", "output": "ok", "time": {"start": 3, "end": 4}}
FINISHED = {"type": "step-finish", "tokens": {"input": 1, "output": 2}, "cost": 0.1}
ANSWER = {"role": "assistant", "modelID": "m", "providerID": "p", "time": {"created": 1}}


@pytest.fixture
def lines(tmp_path):
    """Return a function that writes the parts of an answer and returns the lines of the session."""
    store = sqlite3.connect(tmp_path / "opencode.db")
    store.executescript(
        "CREATE TABLE session (id, parent_id, time_created);"
        "CREATE TABLE message (id, session_id, time_created, data);"
        "CREATE TABLE part (id, message_id, time_created, data);"
        "INSERT INTO session VALUES ('s', NULL, 1);"
    )

    def lines(*parts, completed=False, with_running=True):
        answer = ANSWER | {"time": {"created": 1, "completed": 9} if completed else {"created": 1}}
        messages = [("u", {"role": "user", "time": {"created": 0}}), ("a", answer)]
        store.execute("DELETE FROM message")
        store.execute("DELETE FROM part")
        for at, (name, message) in enumerate(messages):
            store.execute("INSERT INTO message VALUES (?, 's', ?, ?)", (name, at, json.dumps(message)))
        for at, part in enumerate(parts):
            store.execute("INSERT INTO part VALUES (?, 'a', ?, ?)", (f"p{at}", at, json.dumps(part)))
        store.commit()
        with closing(opencode.opened(tmp_path / "opencode.db")) as opened:
            ((_, found),) = opencode.sessions(opened, with_running=with_running)
        return found

    yield lines
    store.close()


def parts_of(found):
    return [fields["part"] for line in found if (fields := json.loads(line))["type"] == "opencode.part"]


def test_a_text_that_ended_and_a_call_that_runs_are_lines(lines):
    begun = {"type": "text", "text": "", "time": {"start": 5}}
    pending = CALL | {"state": {"status": "pending", "input": {}}}
    more = STARTED | {"metadata": {"output": "so far"}, "title": "x"}
    found = lines(TEXT, CALL | {"state": more}, begun, pending)
    assert parts_of(found) == [TEXT, CALL | {"state": STARTED}]
    assert json.loads(found[-1]) | {"part": None} == {
        "type": "opencode.part",
        "id": "p1",
        "session_id": "s",
        "message_id": "a",
        "message": ANSWER,
        "part": None,
    }


def test_the_lines_of_an_answer_only_grow_until_it_is_finished(lines):
    looks = [
        lines(),
        lines(TEXT),
        lines(TEXT, CALL | {"state": STARTED}),
        lines(TEXT, CALL | {"state": ENDED}),
        lines(TEXT, CALL | {"state": ENDED}, FINISHED),
    ]
    for before, after in pairwise(looks):
        assert after[: len(before)] == before
    assert parts_of(looks[-1]) == [TEXT, CALL | {"state": STARTED}, CALL | {"state": ENDED}, FINISHED]


def test_a_running_answer_is_left_out_without_the_option(lines):
    assert parts_of(lines(TEXT, CALL | {"state": STARTED}, with_running=False)) == []


def test_the_finished_answer_is_sent_once_after_its_parts(lines, pusher, server, tmp_path):
    def push(found):
        pusher.push(SessionSource("opencode", tmp_path, "p", found), lambda: False)

    push(lines(TEXT, CALL | {"state": STARTED}))
    last = lines(TEXT, CALL | {"state": ENDED}, FINISHED, completed=True)
    push(last)
    push(last)
    kinds = [json.loads(line)["type"] for line in server.kept["p"]]
    assert kinds == [*["opencode.session", "opencode.message"], *["opencode.part"] * 2, "opencode.message"]
    assert pusher.counts.anew == {}

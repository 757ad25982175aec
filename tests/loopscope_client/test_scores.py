"""Scores of the client: they never block or raise, and survive the process and the server."""

import os
import signal
import subprocess
import sys

import pytest

from loopscope_client import Client
from tests.loopscope_client.hostile_server import answer

LONG_S = 60


def refusing(status, code="bad_note", message="no"):
    def act(handler, _):
        if not handler.path.endswith("/notes"):
            return True
        answer(handler, status, {"code": code, "message": message})
        return False

    return act


def test_a_score_of_a_loop_is_sent_with_its_session_and_loop(connect, server):
    client = connect()
    with client.loop(session="chat") as loop:
        pass
    loop.score("quality", 4, "Short.")

    assert client.flush(LONG_S)
    assert server.scores == [
        {
            "target": {"session_id": "chat", "loop": loop.id, "turn": None},
            "name": "quality",
            "value": 4,
            "text": "Short.",
            "id": "",
        }
    ]


@pytest.mark.parametrize("status", [500, 503, 429, 404])
def test_a_score_is_sent_again_until_the_server_takes_it(connect, server, status):
    server.script = [refusing(status), refusing(status), refusing(status)]
    client = connect()
    client.score("chat", "quality", 4)
    assert client.flush(LONG_S)
    assert [score["value"] for score in server.scores] == [4]


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_refused_score_is_counted_with_its_reason_and_the_next_is_sent(connect, server, caplog, status):
    client = connect()
    client.flush(LONG_S)
    server.script = [refusing(status, message="The project defines no score qualty.")]
    client.score("chat", "qualty", 4)
    client.score("chat", "quality", 5)
    assert client.flush(LONG_S)
    assert [score["name"] for score in server.scores] == ["quality"]
    assert (client.status.rejected, client.status.ok) == (1, False)
    assert client.status.last_rejection == "The project defines no score qualty."
    assert "a score was refused: The project defines no score qualty." in caplog.text


def test_a_score_of_an_unstored_loop_is_dropped_after_its_attempts(connect, server, monkeypatch):
    monkeypatch.setattr("loopscope_client.transport.scores.UNKNOWN_TRIES", 2)
    client = connect()
    client.flush(LONG_S)
    server.always = refusing(404)
    client.score("chat", "quality", 4)
    assert client.flush(LONG_S)
    assert (client.status.rejected, server.scores) == (1, [])


@pytest.mark.parametrize("value", [float("nan"), object(), "\ud800", None])
def test_no_value_makes_a_call_raise(connect, server, value):
    client = connect()
    client.score("chat", "quality", value)
    client.close(timeout=0)
    client.score("chat", "quality", value)
    assert client.status.state == "closed"


def test_scores_of_a_killed_process_are_sent_by_the_next_client(server, tmp_path):
    program = (
        "import os, signal; from loopscope_client import Client\n"
        f"client = Client('http://127.0.0.1:9', 'token', spool={str(tmp_path)!r})\n"
        "client.score('chat', 'quality', 4); os.kill(os.getpid(), signal.SIGKILL)"
    )
    program = program.replace("http://127.0.0.1:9", server.url)
    server.always = lambda handler, _: (handler.close_connection, False)[1]  # never answers
    killed = subprocess.run(
        [sys.executable, "-c", program], check=False, env=os.environ | {"PYTHONPATH": "."}
    )
    assert killed.returncode == -signal.SIGKILL
    assert server.scores == []

    server.always = None
    with Client(server.url, "token", spool=tmp_path) as client:
        assert client.flush(LONG_S)
    assert [score["value"] for score in server.scores] == [4]


def test_a_client_without_scores_has_no_spool_for_them(connect, tmp_path):
    client = connect()
    client.send({"type": "Notice", "session_id": "chat", "kind": "note", "text": "Hi"})
    client.flush(LONG_S)
    assert len(list((tmp_path / "spool").iterdir())) == 1

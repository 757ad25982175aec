"""The client and `tail` against the real server: each line is stored once and in order."""

import json
import re
import subprocess
import sys
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from loopscope_client import Client
from loopscope_client.masking.masker import Masker
from tests.support.server import Server
from tests.support.wait import LONGEST_S, until

ROOT = Path(__file__).parents[2]
LONG_S = LONGEST_S
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("server"))
    server.start()
    yield server
    server.stop()


def events(server, session):
    lines = server.manage("export_session", session, "--as", "events").splitlines()
    return [json.loads(line) for line in lines]


def steps(session, count, start=0):
    return [{"type": "Step", "session_id": session, "n": n} for n in range(start, start + count)]


def begin(session):
    return {
        "type": "AgentStart",
        "agent_id": "a",
        "session_id": session,
        "loop_id": f"{session}.a.1",
        "timestamp": "2026-01-01T00:00:00Z",
    }


def example_of(page):
    """Return the program that a document shows."""
    return re.search(r"```python\n(.+?)```", (ROOT / "docs" / page).read_text(), re.DOTALL)[1]


def cooks(server):
    """Return the sessions that the documents' programs recorded."""
    return [item for item in server.read("/api/v1/sessions")["items"] if item["agent_id"] == "cook"]


def test_the_program_of_the_tutorial_records_its_turns_and_its_tool(server, tmp_path):
    program = example_of("tutorial/record-an-agent.md").replace("http://127.0.0.1:8000", server.url)
    environment = server.environment | {"XDG_STATE_HOME": str(tmp_path), "TOKEN": server.token}

    subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment, check=True, timeout=LONG_S)

    (session,) = [item for item in cooks(server) if item["turns"] == 2]
    assert (session["outcome"], session["tool_calls"], session["usage"]["input"]) == ("completed", 1, 270)


def test_the_example_of_the_page_records_a_run(server, tmp_path):
    program = example_of("how-to/record-from-python.md")
    assert len([line for line in program.splitlines() if line.strip()]) <= 10
    program = program.replace("http://127.0.0.1:8000", server.url).replace("lsk_your_token", server.token)
    environment = server.environment | {"XDG_STATE_HOME": str(tmp_path)}

    subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment, check=True, timeout=LONG_S)

    (session,) = [item for item in cooks(server) if item["turns"] == 1]
    assert (session["outcome"], session["turns"], session["usage"]["output"]) == ("completed", 1, 5)
    assert session["title"] == "What can I make of leeks and potatoes?"


def test_a_server_that_is_killed_and_comes_back_has_everything_once(server, tmp_path):
    client = Client(server.url, server.token, spool=tmp_path)
    client.send(begin("killed"))
    for start in (0, 500, 1_000):
        for event in steps("killed", 500, start):
            client.send(event)
        server.kill()
        server.start()

    assert client.close(LONG_S)

    assert events(server, "killed")[1:] == steps("killed", 1_500)


def test_scores_survive_a_killed_server_and_are_stored_once(server, tmp_path):
    server.manage("score", "create", "quality", "--kind", "number", "--min", "1", "--max", "5")
    client = Client(server.url, server.token, spool=tmp_path)
    with client.loop(session="scored") as loop:
        loop.user("Hi")
    for value in (1, 2):
        loop.score("quality", value)
        server.kill()
        server.start()
    loop.score("quality", 4, "Right.")
    loop.score("quality", 9)

    assert client.close(LONG_S)

    assert client.status.rejected == 1, client.status
    (score,) = server.read("/api/v1/notes?session_id=scored")["items"]
    assert (score["value"], score["target"]["loop_id"], score["source"]) == (4, loop.id, "code")
    assert client.status.last_rejection == "The score quality takes a number from 1 to 5."


def test_a_named_producer_goes_on_from_another_spool(server, tmp_path):
    for part in (0, 1):
        with Client(server.url, server.token, spool=tmp_path / str(part), producer="named") as client:
            if not part:
                client.send(begin("named"))
            for event in steps("named", 10, part * 10):
                client.send(event)
            assert client.flush(LONG_S)

    assert events(server, "named")[1:] == steps("named", 20)


def test_a_file_is_sent_once_however_often_it_is_followed(server, tmp_path):
    path = tmp_path / "events.jsonl"
    for part in (0, 1, 2):
        with path.open("a") as file:
            file.writelines(json.dumps(event) + "\n" for event in ([] if part else [begin("file")]))
            file.writelines(json.dumps(event) + "\n" for event in steps("file", 100, part * 100))
        server.manage("tail", str(path), "--once", "--token", server.token)
    server.manage("tail", str(path), "--once", "--token", server.token, "--spool", str(tmp_path / "empty"))

    assert events(server, "file")[1:] == steps("file", 300)


def test_a_file_is_followed_by_one_process_until_a_signal(server, tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_text(json.dumps(begin("followed")) + "\n")
    command = [sys.executable, "manage.py", "tail", str(path), "--token", server.token, "--url", server.url]
    with subprocess.Popen(
        command, cwd=ROOT, env=server.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as first:
        until(lambda: "followed" in {i["session_id"] for i in server.read("/api/v1/sessions")["items"]})

        second = subprocess.run(
            command, cwd=ROOT, env=server.environment, capture_output=True, text=True, check=False
        )
        first.terminate()

        assert "already followed" in second.stderr
        assert first.wait(LONG_S) == 0
        assert "1 line stored, 0 rejected" in first.stderr.read()


def pipe(server, text, *options):
    """Send text through `tail -`, to its end."""
    command = [sys.executable, "manage.py", "tail", "-", "--flush", *options]
    environment = server.environment | {"LOOPSCOPE_TOKEN": server.token, "LOOPSCOPE_URL": server.url}
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        input=text,
        text=True,
        check=False,
        timeout=LONG_S,
        capture_output=True,
    )
    assert (done.returncode, "0 rejected" in done.stderr) == (0, True), done.stderr


def test_the_end_of_a_pipe_aborts_what_is_open(server):
    pipe(server, "".join(json.dumps(event) + "\n" for event in (begin("pipe"), *steps("pipe", 50))))

    assert events(server, "pipe")[1:] == steps("pipe", 50)
    assert server.read("/api/v1/sessions/pipe")["outcome"] == "aborted"


def test_a_pipe_of_another_runtime_may_be_server_sent_events(server):
    tape = ROOT / "tests/tapes/cagent/two-turns.reconstructed.events.jsonl"
    pipe(server, "".join(f"data: {line}\n\n" for line in tape.read_text().splitlines()), "--format", "cagent")

    (session,) = [item for item in server.read("/api/v1/sessions")["items"] if item["source"] == "cagent"]
    assert (session["outcome"], session["loops"], session["turns"]) == ("completed", 1, 2)


def test_without_a_token_tail_says_what_is_missing(server):
    command = [sys.executable, "manage.py", "tail", "-"]
    done = subprocess.run(
        command, cwd=ROOT, env=server.environment, input="", capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    assert "LOOPSCOPE_TOKEN" in done.stderr


def test_what_the_client_masked_is_stored_as_it_was_sent_and_counts_as_masked(server, tmp_path):
    key = "AKIAIOSFODNN7EXAMPLE"
    client = Client(server.url, server.token, spool=tmp_path, mask=True, mask_key="a key")
    client.send(begin("masked"))
    client.send({"type": "Notice", "session_id": "masked", "kind": "note", "text": f"{key}, once more {key}"})

    assert client.close(LONG_S)

    mark = Masker("a key").text(key)
    (notice,) = [event for event in events(server, "masked") if event["type"] == "Notice"]
    assert notice["text"] == f"{mark}, once more {mark}"
    headers = {"Authorization": f"Bearer {server.token}"}
    with urlopen(
        Request(f"{server.url}/api/v1/sessions/masked/events?envelope=1", headers=headers)
    ) as answer:
        lines = answer.read().splitlines()
    assert [json.loads(line).get("masked") for line in lines] == [None, 2]

"""`loopscope-push --follow` that is killed at random while agents write, against the real server."""

import os
import random
import re
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from contextlib import closing
from time import sleep

import pytest

from tests.faults.support.depth import repeat
from tests.loopscope_client.push.lines import AGENTS, VARIABLES, write
from tests.support.server import ROOT, Server
from tests.support.wait import until

pytestmark = pytest.mark.slow
KILLS = repeat(15, deep=50)
PACE_S = 0.003  # between two lines of an agent
HIGHS = "SELECT high + 1 FROM recorder_producer ORDER BY id"
REJECTED = """SELECT p.name, q.seq, q.code, q.message, q.raw
              FROM recorder_quarantinedline q JOIN recorder_producer p ON p.id = q.producer_id"""
FIRST_TEXT = {"claude-code": 0, "codex": 2, "pi": 1}  # number of the first line that holds it


@pytest.fixture
def server(tmp_path):
    server = Server(tmp_path / "server")
    server.folder.mkdir()
    server.start()
    yield server
    server.stop()


def command(server, tmp_path, *words):
    """Return the arguments and the environment of the command for the agents of AGENTS."""
    homes = {VARIABLES[agent]: str(tmp_path / agent) for agent in AGENTS}
    environment = os.environ | homes | {"LOOPSCOPE_TOKEN": server.token, "PYTHONDONTWRITEBYTECODE": "1"}
    agents = [word for agent in AGENTS for word in ("--agent", agent)]
    run = [sys.executable, "-c", "from loopscope_client.commands.push import main; raise SystemExit(main())"]
    state = ["--state", str(tmp_path / "state"), "--machine", "desk"]
    return [*run, *agents, "--url", server.url, *state, "--yes", *words], environment


def rows(path, query):
    if not path.exists():
        return []
    with closing(sqlite3.connect(path)) as store:
        return store.execute(query).fetchall()


def heights(server):
    """Return how many lines of each producer the server has."""
    return rows(server.folder / "loopscope.sqlite3", HIGHS)


def is_behind(server, tmp_path):
    """Return whether the server has all that the ledger says is acknowledged."""
    acknowledged = dict(rows(tmp_path / "state" / "push.sqlite3", "SELECT producer, lines FROM transcript"))
    stored = dict(rows(server.folder / "loopscope.sqlite3", "SELECT name, high + 1 FROM recorder_producer"))
    return all(lines <= stored.get(producer, 0) for producer, lines in acknowledged.items())


def test_killed_at_random_it_sends_each_line_once_and_in_order(server, tmp_path):
    arguments, environment = command(server, tmp_path, "--follow")
    written, stopped, pick = Counter(), threading.Event(), random.Random(4)

    def agent_writes(agent):
        while not stopped.wait(PACE_S):
            write(agent, tmp_path / agent, [written[agent]])
            written[agent] += 1

    subprocess.run(command(server, tmp_path)[0], cwd=ROOT, env=environment, check=True)  # makes the ledger
    writers = [threading.Thread(target=agent_writes, args=(agent,)) for agent in AGENTS]
    for writer in writers:
        writer.start()
    try:
        for kill in range(KILLS):
            before = heights(server)
            pushing = subprocess.Popen(arguments, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL)
            if kill % 2:  # while it sends: after a request that the server stored
                until(lambda before=before: heights(server) != before)
            sleep(pick.uniform(0, 0.5))  # the kill hits the start, a request or a wait
            pushing.kill()
            pushing.wait()
            assert is_behind(server, tmp_path)
    finally:
        stopped.set()
        for writer in writers:
            writer.join()

    subprocess.run(command(server, tmp_path)[0], cwd=ROOT, env=environment, check=True)

    assert rows(server.folder / "loopscope.sqlite3", REJECTED) == [], server.log()
    sent = rows(server.folder / "loopscope.sqlite3", HIGHS)
    assert sorted(lines for (lines,) in sent) == sorted(written.values())
    for agent in AGENTS:
        exported = server.manage("export_session", f"of-{agent.partition('-')[0]}", "--as", "events")
        prompts = [line for line in exported.splitlines() if '"MessageEnd"' in line]
        assert [int(number) for line in prompts for number in re.findall(r'"line (\d+)"', line)] == list(
            range(FIRST_TEXT[agent], written[agent])
        ), agent


def test_what_is_added_while_it_runs_arrives_and_names_the_machine(server, tmp_path):
    arguments, environment = command(server, tmp_path, "--follow")
    write("pi", tmp_path / "pi", range(2))
    pushing = subprocess.Popen(arguments, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)

    def sessions():
        return {item["session_id"] for item in server.read("/api/v1/sessions?metadata.machine=desk")["items"]}

    try:
        until(lambda: sessions() == {"of-pi"})
        write("codex", tmp_path / "codex", range(2))
        until(lambda: sessions() == {"of-pi", "of-codex"})
    finally:
        pushing.terminate()
        printed = pushing.communicate()[1]
    assert "sent 4 lines of 2 transcripts\n" in printed
    assert pushing.returncode == 0

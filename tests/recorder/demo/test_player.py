"""Playing and removing the demo against a real server."""

import re
import signal
import sqlite3
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from contextlib import closing
from http.cookiejar import CookieJar
from pathlib import Path

import pytest

from tests.support.server import ROOT, Server, is_idle
from tests.support.wait import LONGEST_S, until

pytestmark = pytest.mark.slow

REAL = Path(__file__).parents[2] / "tapes" / "phi-core" / "01-tools-two-prompts.events.jsonl"


def obeying_ctrl_c():
    """A shell ignores it on behalf of what it starts in the background, and that is inherited."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def server(folder):
    server = Server(folder)
    server.start()
    yield server
    server.stop()


def ask(folder, sql):
    """Read the server's database."""
    with closing(sqlite3.connect(f"file:{folder}/loopscope.sqlite3?mode=ro", uri=True)) as database:
        return database.execute(sql).fetchall()


def tables(folder):
    """Return every row of everything that was recorded.

    Once what runs behind the writer has seen it all.
    Without the search index and the ledger, whose cursors and pages depend on when they were written: what
    they have after a removal is tested with them. Without the audit log, which says that the demo was played
    and removed.
    """
    until(lambda: is_idle(folder))
    names = ask(folder, "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'recorder_%'")
    return {
        name: sorted(map(repr, ask(folder, f"SELECT * FROM {name}")))
        for (name,) in names
        if name
        not in ("recorder_accesstoken", "recorder_dailyjob", "recorder_auditentry")  # the server's own
        and not name.startswith(("recorder_search", "recorder_ledger"))
        and name != "recorder_wastestate"  # the line up to which waste was looked for
    }


def count(folder, what="recorder_session WHERE is_demo"):
    return ask(folder, f"SELECT COUNT(*) FROM {what}")[0][0]


class Visitor:
    """Somebody with a browser, signed in."""

    def __init__(self, server):
        self.server = server
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        self.form(server.way_in())

    def read(self, path):
        return self.opener.open(f"{self.server.url}{path}").read().decode()

    def form(self, path):
        """Press the one button of a page."""
        page = self.read(path)
        if "csrfmiddlewaretoken" in page:
            self.post(path, page)

    def post(self, path, page, **fields):
        secret = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)[1]
        data = urllib.parse.urlencode({"csrfmiddlewaretoken": secret, **fields}).encode()
        request = urllib.request.Request(
            f"{self.server.url}{path}", data, {"Referer": self.server.url, "Origin": self.server.url}
        )
        return self.opener.open(request)


def test_a_play_leaves_a_history_and_its_removal_leaves_everything_else(server, folder):
    server.manage("import_runs", str(REAL))
    visitor = Visitor(server)
    before = tables(folder)

    assert "events played" in server.manage("demo", "--fast")

    states = ask(folder, "SELECT status, outcome FROM recorder_session WHERE is_demo")
    assert len(states) > 12
    assert {status for status, _ in states} == {"completed", "rejected"}
    assert {outcome for _, outcome in states} == {"completed", "failed", "rejected"}
    totals = "SUM(groups), SUM(sub_agents), SUM(compactions), SUM(waiting), SUM(errors) > 0"
    found = ask(folder, f"SELECT {totals} FROM recorder_session WHERE is_demo")
    assert found == [(1, 5, 1, 0, 1)]
    assert count(folder, "recorder_anomaly") == 0
    solved = "SELECT about FROM recorder_insight WHERE kind = 'solution' AND is_demo AND worked = 1"
    assert sorted(ask(folder, solved)) == [("bash git push",), ("bash pytest",)]
    shown = visitor.read("/p/default/insights")
    assert "Repeated procedure: 4 cases in 4 loops" in shown
    assert "Error with a solution: 1 case" in shown
    assert "The repository uses pnpm" in shown
    assert count(folder, "recorder_readloop") == count(
        folder, "recorder_looprecord WHERE session_id IN (SELECT id FROM recorder_session WHERE is_demo)"
    )
    assert "nothing found" in server.manage("check_integrity")

    assert server.manage("demo", "--remove") == f"{len(states)} demo sessions removed"
    assert tables(folder) == before
    assert "nothing found" in server.manage("check_integrity")


def test_the_button_plays_once_however_often_it_is_pressed_and_removing_stops_it(server, folder):
    visitor = Visitor(server)
    page = visitor.read("/p/default/connect")
    for _ in range(3):
        answer = visitor.post("/p/default/demo", page)
        assert answer.url == f"{server.url}/p/default/sessions"
    until(lambda: count(folder) >= 1)
    assert count(folder, "recorder_producer WHERE is_demo") == 1

    with pytest.raises(urllib.error.HTTPError, match="400"):
        visitor.post("/p/default/demo/remove", visitor.read("/p/default/connect"))
    visitor.post("/p/default/demo/remove", visitor.read("/p/default/connect"), name="default")
    until(lambda: "the demo stopped" in server.log())
    assert count(folder) == 0
    assert count(folder, "recorder_accesstoken WHERE scopes LIKE '%demo'") == 0

    visitor.post("/p/default/demo", page)
    until(lambda: count(folder) >= 1)
    server.manage("demo", "--remove")


def test_a_play_that_is_broken_off_leaves_nothing_running(server, folder):
    command = [sys.executable, "manage.py", "demo", "--speed", "5"]
    playing = subprocess.Popen(
        command,
        cwd=ROOT,
        env=server.environment,
        stderr=subprocess.DEVNULL,
        preexec_fn=obeying_ctrl_c,  # noqa: PLW1509  one call, and no lock is taken
    )
    try:
        until(lambda: count(folder, "recorder_session WHERE is_demo AND status = 'running'"))
        playing.send_signal(signal.SIGINT)

        assert playing.wait(timeout=LONGEST_S) == 1
    finally:
        playing.kill()
    assert count(folder, "recorder_session WHERE is_demo AND status = 'running'") == 0
    assert count(folder, "recorder_session WHERE is_demo AND status = 'aborted'")
    server.manage("demo", "--remove")


def test_only_a_demo_token_brings_demo_data(server, folder):
    request = urllib.request.Request(
        f"{server.url}/ingest/v1/events",
        b'{"type":"SessionInfo","session_id":"mine","title":"Mine"}',
        {"Authorization": f"Bearer {server.token}", "Content-Type": "application/x-ndjson", "X-Demo": "1"},
    )
    urllib.request.urlopen(request).read()
    assert ask(folder, "SELECT is_demo FROM recorder_session WHERE session_id = 'mine'") == [(0,)]

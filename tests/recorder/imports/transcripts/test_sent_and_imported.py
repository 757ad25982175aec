"""A transcript that is sent to the endpoint and imported is recorded once; one that grows is followed."""

import shutil
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from loopscope_client.transcripts.files import producer_name
from loopscope_client.transcripts.opencode import opened, session_producer, sessions
from recorder.imports.detect import recordings
from recorder.imports.import_files import import_files
from recorder.imports.report import Report
from recorder.models import LoopRecord
from tests.support.endpoint_clients import post
from tests.support.server import Server
from tests.support.wait import LONGEST_S, until

ROOT = Path(__file__).parents[4]
TAPES = ROOT / "tests" / "tapes"


def streams(agent, path):
    """Return the producers and lines of a file as a client sends them."""
    if agent == "opencode":
        with closing(opened(path)) as store:
            return [(session_producer(session), lines) for session, lines in sessions(store)]
    lines = [line for line in path.read_bytes().split(b"\n") if line.strip()]
    return [(producer_name(agent, path.name, lines[0]), lines)]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "tape", ["claude-code/task", "codex/task", "gemini-cli/write", "opencode/write", "pi/branch"]
)
def test_what_was_sent_is_not_imported_again(project, token, tape):
    agent = tape.partition("/")[0]
    files = [path for path in sorted((TAPES / tape).iterdir()) if path.name != "expected.json"]
    for path in files:
        for producer, lines in streams(agent, path):
            body = b"\n".join(lines) + b"\n"
            answer = post(body, token, query=f"format={agent}", x_producer=producer, x_first_seq=0)
            assert (answer.status, answer.json["accepted"], answer.json["rejected"]) == (200, len(lines), [])
    assert LoopRecord.objects.exists()
    report = Report()

    import_files(project, recordings(files, "auto", report), report, lambda size, label: None, flush=True)

    assert (report.problems, report.events, report.loops, report.rejected) == ([], 0, 0, 0)
    assert {loop.status for loop in LoopRecord.objects.all()} <= {"completed", "aborted"}


@pytest.mark.slow
def test_the_home_of_an_agent_is_followed(tmp_path):
    server = Server(tmp_path / "server")
    server.start()
    home, tape = tmp_path / "projects", TAPES / "claude-code" / "write"
    (source,) = tape.glob("*.jsonl")
    shutil.copytree(TAPES / "codex" / "two", home / "other")
    (home / "other" / "expected.json").unlink()
    content = source.read_bytes()
    command = [sys.executable, "manage.py", "import_runs", str(home), "--format", "claude-code", "--follow"]
    # A shell has what it starts in the background ignore Ctrl-C; the command stops all the same.
    command = ["env", "--ignore-signal=INT", *command]
    follower = subprocess.Popen(command, cwd=ROOT, env=server.environment, stderr=subprocess.PIPE, text=True)
    try:
        path = home / "project" / source.name
        path.parent.mkdir()
        for end, turns in ((100, None), (len(content) // 2, 0), (len(content), 3)):
            path.write_bytes(content[:end])
            until(lambda wanted=turns: turns_of(server, source.stem) == wanted)
        follower.send_signal(signal.SIGINT)
        _, errors = follower.communicate(timeout=LONGEST_S)
        assert follower.returncode == 0, errors
        (session,) = server.read("/api/v1/sessions")["items"]
        assert (session["source"], session["turns"], session["tool_calls"]) == ("claude-code", 3, 2)
    finally:
        follower.kill()
        follower.wait()
        server.stop()


def turns_of(server, session):
    """Return the number of a session's finished turns; None if the session is unknown."""
    found = {item["session_id"]: item for item in server.read("/api/v1/sessions")["items"]}
    return found[session]["turns"] if session in found else None

"""`loopscope-tail` without a server: refused arguments, and the message while lines wait."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from loopscope_client.commands import tail
from tests.loopscope_client.hostile_server import answer, says

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch):
    for name in ("LOOPSCOPE_URL", "LOOPSCOPE_TOKEN"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("arguments", "missing"),
    [
        (["-"], "LOOPSCOPE_URL"),
        (["-", "--url", "http://127.0.0.1:9"], "LOOPSCOPE_TOKEN"),
        (["-", "--url", "ftp://127.0.0.1", "--token", "t"], "is not a URL"),
        (
            ["nowhere", "--once", "--url", "http://127.0.0.1:9", "--token", "t", "--spool", "SPOOL"],
            "does not exist",
        ),
    ],
)
def test_an_invalid_argument_is_refused_in_one_line(arguments, missing, capsys, tmp_path):
    assert tail.main([word.replace("SPOOL", str(tmp_path)) for word in arguments]) == 1

    printed = capsys.readouterr().err
    assert printed.startswith("loopscope-tail: ")
    assert missing in printed
    assert printed.count("\n") == 1


def test_a_format_is_a_single_name(capsys):
    with pytest.raises(SystemExit) as end:
        tail.main(["-", "--format", "cagent&flush=1"])

    assert end.value.code == 2
    assert "is not the name of a format" in capsys.readouterr().err


def test_without_a_home_folder_the_spool_must_be_named(monkeypatch):
    def no_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    with pytest.raises(tail.TailError, match="--spool"):
        tail._spool(tail.Options("events.jsonl", "http://127.0.0.1:9", "t"))


def test_it_prints_why_the_lines_of_a_file_wait(tmp_path):
    lines = tmp_path / "events.jsonl"
    lines.write_text('{"type":"Notice"}\n')
    command = [
        sys.executable,
        "-m",
        "loopscope_client.commands.tail",
        str(lines),
        "--spool",
        str(tmp_path / "spool"),
    ]
    environment = os.environ | {"LOOPSCOPE_URL": "http://127.0.0.1:9", "LOOPSCOPE_TOKEN": "t"}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True) as process:
        printed = process.stderr.readline()
        process.kill()

    assert printed.startswith("Lines wait: ")
    assert "refused" in printed


def rejects(handler, lines):
    """Store nothing, and reject each line."""
    first = int(handler.headers["X-First-Seq"])
    rejected = [
        {"seq": seq, "code": "bad_type", "path": "type", "message": "\x1b[2Jno such type"}
        for seq in range(first, first + len(lines))
    ]
    answer(handler, 200, {"upto": first + len(lines) - 1, "rejected": rejected})
    return False


def sent(server, tmp_path, text):
    """Return the status and the messages of a `tail --once` of a file."""
    (tmp_path / "events.jsonl").write_text(text)
    about = ("--url", server.url, "--token", "t", "--spool", str(tmp_path / "spool"), "--once")
    return tail.main([str(tmp_path / "events.jsonl"), *about])


def test_rejected_lines_are_not_counted_as_stored_and_the_status_says_so(server, tmp_path, capsys):
    server.always = rejects

    assert sent(server, tmp_path, '{"type":1}\n{"type":2}\n') == 1

    assert capsys.readouterr().err.splitlines() == [
        "0 lines stored, 2 rejected",
        "The last one: bad_type type \ufffd[2Jno such type",
        "loopscope-tail: the server rejected 2 lines; its page Integrity names them",
    ]


def test_one_line_is_counted_in_the_singular(server, tmp_path, capsys, monkeypatch):
    assert sent(server, tmp_path, '{"type":"Notice"}\n') == 0
    assert capsys.readouterr().err == "1 line stored, 0 rejected\n"

    monkeypatch.setattr(tail, "LAST_S", 0.1)
    server.always = says(503)
    assert sent(server, tmp_path, '{"type":"Notice"}\n{"type":"Notice"}\n') == 1
    assert "loopscope-tail: 1 line waits in " in capsys.readouterr().err

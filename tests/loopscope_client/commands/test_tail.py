"""`loopscope-tail` without a server: refused arguments, and the message while lines wait."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from loopscope_client.commands import tail

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

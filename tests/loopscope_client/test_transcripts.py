"""Where coding agents keep their transcripts, and the names of producers."""

import os
from hashlib import sha256
from pathlib import Path

import pytest

from loopscope_client.transcripts.files import AGENTS, home, last_write, producer_name, transcripts


@pytest.mark.parametrize(
    ("agent", "variable", "default", "moved"),
    [
        ("claude-code", "CLAUDE_CONFIG_DIR", ".claude/projects", "projects"),
        ("codex", "CODEX_HOME", ".codex/sessions", "sessions"),
        ("gemini-cli", "GEMINI_CLI_HOME", ".gemini/tmp", ".gemini/tmp"),
        ("pi", "PI_CODING_AGENT_DIR", ".pi/agent/sessions", "sessions"),
        ("opencode", "XDG_DATA_HOME", ".local/share/opencode", "opencode"),
    ],
)
def test_a_variable_of_the_agent_moves_its_home(monkeypatch, agent, variable, default, moved):
    monkeypatch.setenv("HOME", "/home/dev")
    monkeypatch.delenv(variable, raising=False)
    assert home(agent) == Path("/home/dev") / default
    monkeypatch.setenv(variable, "/srv/agent")
    assert home(agent) == Path("/srv/agent") / moved
    assert agent in AGENTS


def test_transcripts_are_found_below_a_folder(tmp_path):
    written_at = {"b/2.jsonl": 1, "c/1.jsonl": 3, "a/chats/1.jsonl": 3, "a/history.json": 2, "opencode.db": 4}
    for name, at in written_at.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (at, at))

    def found(agent):
        return [path.relative_to(tmp_path).as_posix() for path in transcripts(agent, tmp_path)]

    assert found("codex") == ["b/2.jsonl", "a/chats/1.jsonl", "c/1.jsonl"], "by the last write, then by path"
    assert found("gemini-cli") == ["a/chats/1.jsonl"]
    assert found("opencode") == ["opencode.db"]


def test_a_file_that_is_gone_was_never_written_to(tmp_path):
    assert last_write(tmp_path / "gone.jsonl") == 0


def test_the_name_of_a_producer_says_agent_first_line_and_file():
    line = b'{"type":"summary"}'
    digest = sha256(line).hexdigest()[:32]
    assert producer_name("codex", "rollout-1.jsonl", line) == f"codex:{digest}:rollout-1"
    assert producer_name("codex", "rollout-1.jsonl.gz", line) == f"codex:{digest}:rollout-1"
    assert len(producer_name("codex", "x" * 255, line)) == 200
    assert producer_name("codex", "bad\udcff.jsonl", line) == f"codex:{digest}:bad?"


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (b'{"type":"opencode.session","id":"ses_1"}', "opencode:ses_1"),
        (b'{"type":"opencode.session","id":1}', None),
        (b"[1]", None),
        (b"{", None),
    ],
)
def test_a_session_of_opencode_has_its_own_name(line, name):
    wanted = name or f"opencode:{sha256(line).hexdigest()[:32]}:s"
    assert producer_name("opencode", "s.jsonl", line) == wanted

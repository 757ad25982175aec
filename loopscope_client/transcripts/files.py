"""Where the transcripts of each agent are, and the name of a file's producer.

The name is made of the first line and the file's name, so a file that is sent and imported is recorded once.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

from loopscope_client.transcripts import opencode

STORE = "opencode.db"
# By agent: the variable that moves its home, the home below that, the default home below the user's, and the
# folder of the transcripts inside the home.
_HOMES = {
    "claude-code": ("CLAUDE_CONFIG_DIR", "", ".claude", "projects"),
    "codex": ("CODEX_HOME", "", ".codex", "sessions"),
    "gemini-cli": ("GEMINI_CLI_HOME", ".gemini", ".gemini", "tmp"),
    "pi": ("PI_CODING_AGENT_DIR", "", ".pi/agent", "sessions"),
    "opencode": ("XDG_DATA_HOME", "opencode", ".local/share/opencode", ""),
}
AGENTS = tuple(_HOMES)


def home(agent: str) -> Path:
    """Return the folder in which an agent keeps its transcripts; a variable of the agent may move it."""
    variable, below, default, inside = _HOMES[agent]
    moved = os.environ.get(variable)
    return (Path(moved) / below if moved else Path.home() / default) / inside


def transcripts(agent: str, folder: Path) -> Iterator[Path]:
    """Yield the transcripts below a folder, the one that was written to last at the end.

    Search shows first what was recorded last, which of history is then the newest.
    """
    pattern = STORE if agent == opencode.AGENT else "*.jsonl"
    found = (path for path in folder.rglob(pattern) if path.is_file())
    yield from sorted(
        (path for path in found if agent != "gemini-cli" or "chats" in path.parts),
        key=lambda path: (last_write(path), path),
    )


def last_write(path: Path) -> int:
    """Return when a file was last written to, in nanoseconds; 0 if it is gone."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def producer_name(agent: str, name: str, first_line: bytes) -> str:
    """Return the name of a transcript's producer, at most 200 characters.

    `first_line` is the first line that is not blank, without its end. A session of OpenCode has the name that
    it has in the store.
    """
    if agent == opencode.AGENT and (session := _session_of_head(first_line)):
        return opencode.session_producer(session)
    stem = name.removesuffix(".gz").removesuffix(".jsonl").encode(errors="replace").decode()
    return f"{agent}:{hashlib.sha256(first_line).hexdigest()[:32]}:{stem}"[:200]


def _session_of_head(line: bytes) -> str:
    try:
        head = json.loads(line)
    except (ValueError, RecursionError):
        return ""
    session = head.get("id") if isinstance(head, dict) and head.get("type") == opencode.HEAD else None
    return session if isinstance(session, str) else ""

"""Where the transcripts of each agent are, and the name of a file's producer.

The name is made of the first line and the file's name, so a file that is sent and imported is recorded once.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

FOLDERS = {
    "claude-code": ("CLAUDE_CONFIG_DIR", ".claude", "projects"),
    "codex": ("CODEX_HOME", ".codex", "sessions"),
    "gemini-cli": ("", ".gemini", "tmp"),
    "pi": ("", ".pi/agent", "sessions"),
    "opencode": ("", ".local/share/opencode", ""),
}
STORE = "opencode.db"


def home(agent: str) -> Path:
    """Return the folder in which an agent keeps its transcripts; a variable of the agent may move it."""
    variable, folder, inside = FOLDERS[agent]
    named = os.environ.get(variable) if variable else None
    return (Path(named) if named else Path.home() / folder) / inside


def transcripts(agent: str, folder: Path) -> Iterator[Path]:
    """Yield the transcripts below a folder, in order of their paths."""
    pattern = STORE if agent == "opencode" else "*.jsonl"
    for path in sorted(folder.rglob(pattern)):
        if path.is_file() and (agent != "gemini-cli" or "chats" in path.parts):
            yield path


def producer_name(agent: str, name: str, first_line: bytes) -> str:
    """Return the name of a transcript's producer, at most 200 characters."""
    stem = name.removesuffix(".gz").removesuffix(".jsonl")
    return f"{agent}:{hashlib.sha256(first_line).hexdigest()[:32]}:{stem}"[:200]

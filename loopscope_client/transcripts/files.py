"""The folders of each agent's transcripts, and the name of a file's producer.

The name is made of the first line and the file's name, so a file that is sent and imported is recorded once.
Nothing outside the folder is read: symbolic links below it are not followed. Each file that may be a
transcript and is not read is named, with the reason.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from loopscope_client.transcripts import opencode
from loopscope_client.transcripts.open_file import zstd
from loopscope_client.transcripts.visible import visible

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
_STORE = re.compile(r"opencode(-[\w.-]+)?\.db")  # one for each channel of releases
_CHAT = re.compile(r"session-.*\.json")  # of Gemini CLI before 0.39
JSON_STORE = (
    "it has sessions of OpenCode before 1.2, as files: `opencode db migrate` of OpenCode 1.2 to 1.15"
    " moves them into its database, which is read"
)
_PACKED = {
    ".gz": "it is packed with gzip, which no agent writes: unpack it, or import it with `import_runs`",
    ".zst": "it is packed with zstd: `pip install zstandard`, or unpack it with `unzstd`",
}


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that may be a transcript and is not read, and why."""

    path: Path
    why: str


@dataclass(slots=True)
class Found:
    """The transcripts below a folder, the one that was written to last at the end."""

    paths: list[Path] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)


def home(agent: str) -> Path:
    """Return the folder in which an agent keeps its transcripts; a variable of the agent may move it."""
    variable, below, default, inside = _HOMES[agent]
    if agent == "pi" and (sessions := os.environ.get("PI_CODING_AGENT_SESSION_DIR")):
        return Path(sessions)
    moved = os.environ.get(variable)
    return (Path(moved) / below if moved else Path.home() / default) / inside


def homes(agent: str) -> list[Path]:
    """Return all places of an agent's transcripts: folders, or a store that a variable names."""
    folder = home(agent)
    if agent == "codex":  # to which a person moves sessions
        return [folder, folder.with_name("archived_sessions")]
    named = os.environ.get("OPENCODE_DB") if agent == opencode.AGENT else None
    return [folder, folder / named] if named and named != ":memory:" else [folder]


def transcripts(agent: str, folder: Path) -> Iterator[Path]:
    """Yield the transcripts below a folder, the one that was written to last at the end.

    Search shows first what was recorded last, which of history is then the newest.
    """
    yield from look(agent, [folder]).paths


def look(agent: str, places: list[Path]) -> Found:
    """Return the transcripts at some places, and what is skipped there."""
    found, every = Found(), {}
    for place in places:
        is_store = place.is_file()
        for path in [place] if is_store else walk(place, found.skipped):
            why = "" if is_store else _refusal(agent, path)
            if why:
                found.skipped.append(Skipped(path, why))
            elif why is not None:
                every[path.resolve() if is_store else path] = path
    if agent == opencode.AGENT and not every:
        found.skipped += [Skipped(store, JSON_STORE) for place in places for store in json_stores(place)]
    found.skipped = outside(found.skipped, places)
    found.paths = sorted(every.values(), key=lambda path: (last_write(path), path))
    return found


def json_stores(place: Path) -> list[Path]:
    """Return the folder of sessions at or below the home of an OpenCode before 1.2, if it has any."""
    folders = (place / "storage" / "session", place / "session")
    return [folder for folder in folders if any(folder.glob("*/ses_*.json"))]


def walk(folder: Path, skipped: list[Skipped]) -> Iterator[Path]:
    """Yield what is below a folder and no folder itself, in order of names. No link is followed.

    Folders that cannot be read, and links to folders outside, are added to `skipped`.
    """
    left = _entries(folder, skipped)
    while left:
        entry = left.pop()
        path = Path(entry.path)
        if entry.is_dir(follow_symlinks=False):
            left += _entries(path, skipped)
        elif entry.is_symlink() and _is_folder(path):
            skipped.append(Skipped(path, "it is a symbolic link, which is not followed"))
        else:
            yield path


def _entries(folder: Path, skipped: list[Skipped]) -> list[os.DirEntry[str]]:
    """Return what a folder has, the first name last."""
    try:
        return sorted(os.scandir(folder), key=lambda entry: entry.name, reverse=True)
    except FileNotFoundError:
        return []
    except OSError as error:
        skipped.append(Skipped(folder, error.strerror or str(error)))
        return []


def outside(skipped: list[Skipped], places: list[Path]) -> list[Skipped]:
    """Return what is skipped without the links to what is below one of the places, and found there."""
    return [each for each in skipped if not _is_below(each.path, places)]


def _is_below(path: Path, places: list[Path]) -> bool:
    """Return whether a path is a link to what is below one of the places, and found there."""
    if not path.is_symlink():
        return False
    target = path.resolve()
    return any(target.is_relative_to(place.resolve()) for place in places)


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except OSError:
        return False


def refusal(path: Path) -> str:
    """Return why a file is not read; "" if it is a regular file, and no link to one."""
    try:
        mode = path.lstat().st_mode
    except OSError as error:
        return error.strerror or str(error)
    if stat.S_ISLNK(mode):
        return "it is a symbolic link, which is not followed"
    return "" if stat.S_ISREG(mode) else "it is no file"


def _refusal(agent: str, path: Path) -> str | None:
    """Return why a file is not read; None if it has not the name of a transcript."""
    name, packed = path.name, path.suffix if path.suffix in _PACKED else ""
    plain = name.removesuffix(packed)
    if agent == opencode.AGENT:
        is_transcript = _STORE.fullmatch(plain) is not None
    elif agent == "gemini-cli":
        is_below = path.parent.parent.name == "chats"  # a sub-agent, in the folder of the session above
        is_document = _CHAT.fullmatch(plain) is not None or (is_below and plain.endswith(".json"))
        is_transcript = "chats" in path.parts and (plain.endswith(".jsonl") or is_document)
    else:
        is_transcript = plain.endswith(".jsonl") and not _is_journal(agent, path)
    if not is_transcript:
        return None
    if packed and not (packed == ".zst" and agent != opencode.AGENT and zstd()):
        return _PACKED[packed]
    return refusal(path)


def _is_journal(agent: str, path: Path) -> bool:
    """Return whether a file is the journal of a workflow of Claude Code, which is no transcript."""
    return agent == "claude-code" and path.name == "journal.jsonl" and "subagents" in path.parts


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
    stem = name.removesuffix(".gz").removesuffix(".zst").removesuffix(".jsonl")
    stem = visible(stem.encode(errors="replace").decode())
    return f"{agent}:{hashlib.sha256(first_line).hexdigest()[:32]}:{stem}"[:200]


def _session_of_head(line: bytes) -> str:
    try:
        head = json.loads(line)
    except (ValueError, RecursionError):
        return ""
    session = head.get("id") if isinstance(head, dict) and head.get("type") == opencode.HEAD else None
    return session if isinstance(session, str) else ""

"""The lists that `loopscope-push` prints: the transcripts that it found, and those that it leaves out."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TextIO

from loopscope_client.commands.number import number
from loopscope_client.push.sources import sources
from loopscope_client.transcripts.files import homes
from loopscope_client.transcripts.visible import visible

SHOWN = 8  # files of an agent that are listed by name
State = tuple[int, int]


class Skipped:
    """The transcripts left out and why; each is printed once, and again after it has changed."""

    def __init__(self, stderr: TextIO) -> None:
        self.files: set[Path] = set()
        self._stderr = stderr
        self._printed: dict[tuple[Path, str], State] = {}

    def add(self, path: Path, why: str) -> None:
        """Name a file that is left out."""
        state = state_of(path)
        if self._printed.get((path, why)) != state:
            self._printed[path, why] = state
            self.files.add(path)
            say(self._stderr, f"loopscope-push: {path} is left out until it changes: {why}")


def show(agent: str, folder: Path | None, skipped: Skipped, stderr: TextIO) -> None:
    """List the transcripts of an agent below a folder, by default its homes: the newest ones by name."""
    every = [source.path for source in sources(agent, folder, skipped.add)]
    files = {path: _size_and_change(path) for path in every}
    places = " and ".join(map(str, homes(agent) if folder is None else [folder]))
    total = _size(sum(size for size, _ in files.values()))
    say(stderr, f"  {agent}: {number(len(every), 'transcript')}, {total}, in {places}")
    newest = sorted(files, key=lambda path: files[path][1], reverse=True)
    for path in newest[:SHOWN]:
        size, changed_at = files[path]
        changed = datetime.fromtimestamp(changed_at)  # noqa: DTZ006  local time, for a person
        say(stderr, f"    {changed:%Y-%m-%d %H:%M}  {_size(size):>9}  {path}")
    if len(newest) > SHOWN:
        say(stderr, f"    and {len(newest) - SHOWN} more")


def state_of(path: Path) -> State:
    """Return what changes when a file does, the write-ahead log of a store included."""
    sizes = changed = 0
    for each in (path, path.with_name(f"{path.name}-wal")):
        with suppress(OSError):
            stat = each.stat()
            sizes, changed = sizes + stat.st_size, max(changed, stat.st_mtime_ns)
    return sizes, changed


def say(stderr: TextIO, text: str) -> None:
    """Print a line. Names of files may hold anything."""
    stderr.write(f"{visible(text)}\n")
    stderr.flush()


def _size_and_change(path: Path) -> tuple[int, float]:
    try:
        stat = path.stat()
    except OSError:  # removed meanwhile
        return 0, 0.0
    return stat.st_size, stat.st_mtime


def _size(size: int) -> str:
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:,.0f} {unit}"
        size //= 1000
    return f"{size:,.0f} GB"

"""Result of an import: counts, and every problem with its file, line and remedy."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from recorder.core.content.text import plural
from recorder.journal.batch import Rejected

SHOWN = 20  # rejected lines named one by one; the rest is counted


class OnProgress(Protocol):
    """Called while files are read: the bytes read since the last call, and the file's name."""

    def __call__(self, size: int, label: str = "") -> None: ...


class UnusableError(Exception):
    """A file that cannot be imported: why, and what to do about it."""


@dataclass(slots=True)
class Report:
    """The totals over all files of one import."""

    files: int = 0
    session_keys: set[int] = field(default_factory=set)  # primary keys of the new sessions
    loops: int = 0
    events: int = 0
    duplicates: int = 0
    skipped: int = 0  # files of a folder that are no recordings
    live: int = 0  # loops left out because they were recorded already
    rejected: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # facts worth knowing that are no problem
    producers: set[str] = field(default_factory=set)  # names of those of the file that is imported now
    written: int = 0  # files that a coding agent is writing
    unchanged: int = 0  # files that were not read, as they are as they were at their last import

    @property
    def sessions(self) -> int:
        """Return the number of new sessions; several files may belong to one."""
        return len(self.session_keys)

    @property
    def is_clean(self) -> bool:
        return not self.problems and not self.rejected

    def note(self, path: Path, what: str) -> None:
        """Note what people should know about a file that was imported."""
        self.notes.append(f"{path}: {what}")

    def problem(self, path: Path, why: str) -> None:
        """Note a file, or a part of it, that could not be read."""
        self.problems.append(f"{path}: {why}")

    def reject(self, path: Path, place: str, refused: Rejected) -> None:
        """Note one rejected line."""
        self.rejected += 1
        self.reasons[refused.code] = self.reasons.get(refused.code, 0) + 1
        if self.rejected <= SHOWN:
            where = f"{refused.path}: " if refused.path else ""
            self.problems.append(f"{path}, {place}: {refused.code}: {where}{refused.message}")

    def lines(self) -> list[str]:
        """Return the summary for people."""
        counts = (
            plural(self.files, "file"),
            plural(self.sessions, "new session"),
            plural(self.loops, "new loop"),
            plural(self.events, "new event"),
        )
        repeated = f"{plural(self.duplicates, 'event')} and {plural(self.live, 'loop')}"
        found = [", ".join(counts), f"{repeated} were already recorded"]
        if self.unchanged:
            unchanged = plural(self.unchanged, "file has", "files have")
            found.append(f"{unchanged} not changed since the last import")
        if self.written:
            written = plural(self.written, "file is", "files are")
            found.append(f"{written} being written: loops that did not end there stay open")
        if self.skipped:
            found.append(f"{plural(self.skipped, 'file')} skipped: neither event nor session files")
        if self.rejected:
            reasons = ", ".join(f"{count} {code}" for code, count in sorted(self.reasons.items()))
            rejected = plural(self.rejected, "line")
            found.append(f"{rejected} rejected ({reasons}); kept in quarantine for 7 days")
        return found

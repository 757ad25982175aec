"""Result of an import: counts, and every problem with its file, line and remedy."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

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
    notes: list[str] = field(default_factory=list)  # what is worth knowing and no problem
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
        new = f"{self.sessions} new sessions, {self.loops} new loops, {self.events} new events"
        found = [
            f"{self.files} files, {new}",
            f"{self.duplicates} events and {self.live} loops were already recorded",
        ]
        if self.unchanged:
            found.append(f"{self.unchanged} files have not changed since their last import")
        if self.written:
            found.append(f"{self.written} files are being written: loops that did not end in them stay open")
        if self.skipped:
            found.append(f"{self.skipped} files skipped: neither event nor session files")
        if self.rejected:
            reasons = ", ".join(f"{count} {code}" for code, count in sorted(self.reasons.items()))
            found.append(f"{self.rejected} lines rejected ({reasons}); they are kept 7 days in quarantine")
        return found

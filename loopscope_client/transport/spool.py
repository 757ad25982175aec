"""The spool: lines that wait for the server, in append-only segment files of one producer's folder.

A line's position is its index among all lines that the folder ever had; its number at the server is `base`
plus the position. When `append` returns, the operating system has the line, so it survives the process, but
not a power failure: nothing is synced. A dropped line gets no position, so numbers have no gaps. `append` and
`take` cost one system call or two; `done` deletes whole segments only.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from threading import RLock

from loopscope_client.transport.encoding import line_of

# Shares of the budget up to which a line is accepted: streamed text is dropped first, starts and ends last.
STREAMING = frozenset(("MessageUpdate", "ToolExecutionUpdate", "ProgressMessage"))
LIFECYCLE = frozenset(
    (
        "AgentStart AgentEnd TurnStart TurnEnd ToolExecutionStart ToolExecutionEnd ParallelLoopStart "
        "ParallelLoopEnd CompactionStarted CompactionEnded SubAgentLinked InputRejected ApprovalRequested "
        "ApprovalResolved ErrorRaised"
    ).split()
)
QUARTER, HALF, MOST, ALL = 0.25, 0.5, 0.875, 1.0
_PLACES = 1_000  # loops and sessions whose drops are counted separately
_SEGMENT = 8 * 1024 * 1024  # bytes; a new file costs one system call more than a line


@dataclass(slots=True)
class Segment:
    """One file of lines, and the position of its first line."""

    path: Path
    first: int
    lines: int = 0
    size: int = 0


@dataclass(slots=True)
class State:
    """The part of a spool that survives the process besides its lines, stored in `producer.json`."""

    producer: str
    url: str
    base: int | None  # the number of position 0; None until the server has answered with the last number
    acked: int = 0  # positions below are stored on the server
    kept: bool = False  # the producer has a name, so a later process continues it

    @classmethod
    def read(cls, folder: Path) -> State | None:
        """Return the state of a folder, None if it has no readable one."""
        try:
            return cls(**json.loads((folder / "producer.json").read_bytes()))
        except (OSError, ValueError, TypeError):
            return None

    def write(self, folder: Path) -> None:
        """Replace the file atomically, so that a crash leaves the old or the new one."""
        fields = {name: getattr(self, name) for name in ("producer", "url", "base", "acked", "kept")}
        fresh = folder / "producer.json.new"
        fresh.write_bytes(json.dumps(fields).encode())
        fresh.replace(folder / "producer.json")


@dataclass(slots=True)
class Drops:
    """Dropped events by type: all of them, and those that no notice has reported, by loop or session."""

    all: Counter[str] = field(default_factory=Counter)
    unreported: dict[tuple[str, str], Counter[str]] = field(default_factory=dict)
    reasons: set[str] = field(default_factory=set)

    def add(self, kind: str, place: tuple[str, str] | None, reason: str) -> None:
        self.all[kind] += 1
        self.reasons.add(reason)
        if place is not None and (place in self.unreported or len(self.unreported) < _PLACES):
            self.unreported.setdefault(place, Counter())[kind] += 1

    def notices(self, places: Iterable[tuple[str, str]]) -> list[bytes]:
        """Return a Notice line for each loop or session with its number of dropped events."""
        now = datetime.now(UTC).isoformat()
        total = {place: self.unreported[place].total() for place in places}
        return [
            line_of(
                {
                    "type": "Notice",
                    name: id_,
                    "kind": "dropped",
                    "severity": "warning",
                    "text": f"{count} events were not recorded: {' or '.join(sorted(self.reasons))}",
                    "data": dict(self.unreported[name, id_]),
                    "timestamp": now,
                }
            )
            for (name, id_), count in total.items()
        ]


class Spool:
    """The lines of one producer; any thread may call `append`, only the sending thread the rest."""

    def __init__(self, folder: Path, state: State, budget: int) -> None:
        self.folder, self.state, self.budget = folder, state, budget
        self.drops = Drops()
        self._lock = RLock()  # a signal handler may send while its own thread does
        self._segments = _segments(folder)
        last = self._segments[-1] if self._segments else None
        self.next = last.first + last.lines if last else state.acked
        state.acked = min(max(state.acked, self._segments[0].first if last else 0), self.next)
        self._at = state.acked  # the position that `take` returns next
        self._offset = self._offset_of(self._at)
        self.queued = self._unsent()
        self._out = -1
        self._limit = max(4096, min(_SEGMENT, budget // 8))

    def append(self, line: bytes, kind: str, place: tuple[str, str] | None) -> bool:
        """Append a line; return False, and count it as dropped, when there is no room for its type."""
        with self._lock:
            if self.drops.unreported:
                self._write_notices(kind, place)
            if self.queued + len(line) > self.budget * _share(kind) or not self._write(line):
                self.drops.add(kind, place, "the spool was full")
                return False
            return True

    def drop(self, kind: str, place: tuple[str, str] | None, reason: str) -> None:
        """Count a line as dropped that was not appended for another reason than the room."""
        with self._lock:
            self.drops.add(kind, place, reason)

    def append_again(self, lines: Iterable[bytes]) -> None:
        """Append lines whose numbers another program has used, so that they get new ones."""
        with self._lock:
            for line in lines:
                self._write(line)

    def take(self, most: int, size: int) -> tuple[int, list[bytes]]:
        """Return the next position and lines from there on, at most `most` and about `size` bytes."""
        with self._lock:
            segment = self._holding(self._at)
            end, offset, at = self.next, self._offset, self._at
        if segment is None or at >= end:
            return at, []
        with segment.path.open("rb") as file:
            file.seek(offset)
            lines = file.read(size).split(b"\n")[:-1][: min(most, end - at)]
            if not lines:  # one line is longer than a batch
                file.seek(offset)
                lines = [file.readline().removesuffix(b"\n")]
        self._at, self._offset = at + len(lines), offset + sum(map(len, lines)) + len(lines)
        return at, lines

    def done(self, upto: int) -> None:
        """Mark the lines below a position as stored, and delete segments without other lines."""
        with self._lock:
            self.state.acked = max(self.state.acked, min(upto, self.next))
            while len(self._segments) > 1 and self._segments[1].first <= self.state.acked:
                self.state.write(self.folder)
                self._segments.pop(0).path.unlink(missing_ok=True)
            self._position(self.state.acked if self._at < self.state.acked else self._at)
            self.queued = self._unsent()

    def back_to(self, position: int) -> bool:
        """Continue from an earlier position; return False when its line was deleted."""
        with self._lock:
            first = self.oldest
            self.state.acked = min(self.state.acked, max(first, position))
            self._position(max(first, min(position, self.next)))
            self.queued = self._unsent()
            return position >= first

    def rebase(self, base: int) -> None:
        """Set and store the number of position 0, before a line is sent under it."""
        self.state.base = base
        self.state.write(self.folder)

    def report_drops(self) -> None:
        """Append notices of dropped events once three quarters of the spool are free."""
        with self._lock:
            if self.drops.unreported and self.queued < self.budget * QUARTER:
                self._write_notices("", None)

    @property
    def oldest(self) -> int:
        """The first position whose line is not deleted."""
        return self._segments[0].first if self._segments else self.next

    @property
    def waiting(self) -> int:
        """Number of lines that the server has not acknowledged."""
        return self.next - self.state.acked

    def close(self, *, remove: bool) -> None:
        """Close the files; with `remove` delete them when no line waits and the producer has no name."""
        with self._lock:
            if self._out >= 0:
                os.close(self._out)
                self._out = -1
            if remove and not self.waiting and not self.state.kept:
                for path in sorted(self.folder.iterdir()):
                    path.unlink(missing_ok=True)
                self.folder.rmdir()
            else:
                self.state.write(self.folder)

    def abandon(self) -> None:
        """Close the file without writing the state; another process continues with it."""
        if self._out >= 0:
            os.close(self._out)
            self._out = -1

    def _write_notices(self, kind: str, place: tuple[str, str] | None) -> None:
        """Report drops: of all loops when there is room, of one loop at the latest before its end."""
        if self.queued < self.budget * QUARTER:
            places = list(self.drops.unreported)
        elif kind == "AgentEnd" and place in self.drops.unreported:
            places = [place]
        else:
            return
        for reported, line in zip(places, self.drops.notices(places), strict=True):
            if self.queued + len(line) <= self.budget and self._write(line):
                del self.drops.unreported[reported]

    def _write(self, line: bytes) -> bool:
        try:
            segment = self._writable()
            whole = line + b"\n"
            written = os.write(self._out, whole)
            if written < len(whole):
                os.ftruncate(self._out, segment.size)
                return False
        except OSError:
            return False
        segment.size += written
        segment.lines += 1
        self.queued += written
        self.next += 1
        return True

    def _writable(self) -> Segment:
        last = self._segments[-1] if self._segments else None
        if last is None or last.size >= self._limit:
            last = Segment(self.folder / f"{self.next:016d}.jsonl", self.next)
            out = os.open(last.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            if self._out >= 0:
                os.close(self._out)
            self._out = out
            self._segments.append(last)
        elif self._out < 0:
            self._out = os.open(last.path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        return last

    def _holding(self, position: int) -> Segment | None:
        for segment in self._segments:
            if position < segment.first + segment.lines:
                if position == segment.first:
                    self._offset = 0
                return segment
        return None

    def _position(self, position: int) -> None:
        if position != self._at:
            self._at, self._offset = position, self._offset_of(position)

    def _offset_of(self, position: int) -> int:
        for segment in self._segments:
            if segment.first <= position < segment.first + segment.lines:
                with segment.path.open("rb") as file:
                    return sum(len(file.readline()) for _ in range(position - segment.first))
        return self._segments[-1].size if self._segments else 0

    def _unsent(self) -> int:
        """Return the bytes that wait; lines in flight count until they are acknowledged."""
        acked = self.state.acked
        for n, segment in enumerate(self._segments):
            if acked < segment.first + segment.lines:
                offset = self._offset if acked == self._at else self._offset_of(acked)
                stored = 0 if acked == segment.first else offset
                return sum(part.size for part in self._segments[n:]) - stored
        return 0


def _share(kind: str) -> float:
    return HALF if kind in STREAMING else ALL if kind in LIFECYCLE else MOST


def _segments(folder: Path) -> list[Segment]:
    found = []
    for path in sorted(folder.glob("*.jsonl")):
        body = path.read_bytes()
        whole = body.rfind(b"\n") + 1
        if whole < len(body):  # the process ended inside this write, before `append` returned
            os.truncate(path, whole)
        found.append(Segment(path, int(path.stem), body.count(b"\n"), whole))
    return found

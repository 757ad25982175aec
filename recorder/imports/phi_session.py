"""Imports what a phi-core session file has and the store does not.

A loop is identified by (session, loop, start), so a file may follow a live recording or an older copy of
itself. The session object that an agent holds has start times of its own: its loops are matched with those
that were running at that time.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterable
from datetime import datetime
from itertools import islice
from pathlib import Path

from recorder.core.formats import InvalidLineError
from recorder.core.formats.phi_session.loop import LoopLines
from recorder.core.formats.phi_session.reader import GroupLines, SessionLines, merge_by_time, read_sessions
from recorder.imports.gzip_file import OverBoundError, opened
from recorder.imports.report import Report, UnusableError
from recorder.imports.submit import Sender
from recorder.journal.identity import Marks, are_same, marks, unstored
from recorder.journal.producers import IMPORT_PREFIX
from recorder.masking.project_rules import masker_of
from recorder.models import EventRecord, LoopRecord, Project

SIZE_MAX = 512 * 1024 * 1024
_BATCH = 300


def import_sessions(
    project: Project, path: Path, report: Report, on_progress: Callable[[int], None], *, flush: bool
) -> None:
    """Import the sessions of one file."""
    try:
        found = read_sessions(_read(path))
    except InvalidLineError as refused:
        report.problem(path, f"{refused.path}: {refused.message} ({refused.code}); "
                             "a session file is what phi-core's save_session writes")  # fmt: skip
        return
    except OverBoundError as error:
        report.problem(path, f"{error}; decompress the file and import it")
        return
    except (EOFError, zlib.error) as error:
        report.problem(path, f"the compressed data is damaged or cut off ({error}); compress the file again")
        return
    except UnusableError as error:
        report.problem(path, str(error))
        return
    for session in found:
        _Import(project, session, path, report).run(flush=flush)
    on_progress(path.stat().st_size)


def _read(path: Path) -> bytes:
    with opened(path) as file:
        raw = file.read(SIZE_MAX + 1)
    if len(raw) > SIZE_MAX:
        raise UnusableError(f"larger than {SIZE_MAX >> 20} MiB; import its event file instead")
    return raw.removeprefix(b"\xef\xbb\xbf")


class _Import:
    """One session of a file and what is recorded of it."""

    def __init__(self, project: Project, session: SessionLines, path: Path, report: Report) -> None:
        self.project, self.session, self.path, self.report = project, session, path, report
        self.sender = Sender(project, _producer(session.session_id), report, goes_on=True)
        self.known = self._recorded_loops()

    def run(self, *, flush: bool) -> None:
        """Send what is new: ended loops, then the flush that aborts the others, then loops that stay open."""
        fresh = [loop for loop in self.session.loops if self._record(loop) is None]
        self._send(merge_by_time([*(loop for loop in fresh if not loop.is_open), *self._groups(fresh)]))
        self._send(line for loop in self.session.loops for line in self._missing(loop))
        if flush and any(loop.status == "Aborted" for loop in self.session.loops):
            self.sender.flush()
        self._send(merge_by_time([loop for loop in fresh if loop.is_open]))
        if self.session.about:
            self._send(self._unrecorded("SessionInfo", [self.session.about]))
        self.sender.close()

    def _recorded_loops(self) -> dict[tuple[str, datetime | None], LoopRecord]:
        found = LoopRecord.objects.filter(
            session__project=self.project, session__session_id=self.session.session_id
        ).select_related("producer")
        return {(loop.loop_id, loop.started_at): loop for loop in found}

    def _record(self, loop: LoopLines) -> LoopRecord | None:
        """Return the recorded loop of a loop in the file."""
        record = self.known.get(_key(loop))
        if record is not None or not loop.is_reconstructed:
            return record
        runs = (run for run in self.known.values() if run.loop_id == loop.loop_id)
        return next((run for run in runs if _ran_at(run, loop.started_at)), None)

    def _groups(self, fresh: list[LoopLines]) -> list[GroupLines]:
        new = {_key(loop) for loop in fresh}
        return [
            group
            for group in self.session.groups
            if all(_key(self.session.loops[i]) in new for i in group.loops)
        ]

    def _missing(self, loop: LoopLines) -> list[bytes]:
        """Return the lines of a recorded loop that only the file has."""
        record = self._record(loop)
        if record is None:
            return []
        if record.status != "running" or record.producer.name != self.sender.producer:
            self.report.live += record.producer.name != self.sender.producer
            return self._unrecorded("CompactionEnded", loop.file_only)
        lines = [timed.line for timed in loop.lines]
        stored = self._stored(loop=record)
        is_same = are_same(lines[: len(stored)], stored, masker_of(self.project.pk))
        return lines[len(stored) :] if is_same else []

    def _unrecorded(self, kind: str, lines: list[bytes]) -> list[bytes]:
        if not lines:
            return []
        stored = self._stored(
            session__project=self.project, session__session_id=self.session.session_id, type=kind
        )
        return unstored(lines, stored, masker_of(self.project.pk))

    def _stored(self, **where: object) -> list[Marks]:
        """Return the marks of recorded lines; their bodies may be pruned."""
        rows = EventRecord.objects.filter(**where).order_by("pk").values_list("pk", flat=True)
        return list(marks(rows).values())

    def _send(self, lines: Iterable[bytes]) -> None:
        rest = iter(lines)
        while batch := list(islice(rest, _BATCH)):
            first = self.sender.sent
            for rejected in self.sender.send(batch):
                event = batch[rejected.seq - first][:80].decode(errors="replace")
                self.report.reject(self.path, f"session {self.session.session_id}, {event}…", rejected)


def _key(loop: LoopLines) -> tuple[str, datetime | None]:
    return loop.loop_id, loop.started_at


def _ran_at(run: LoopRecord, at: datetime) -> bool:
    return (
        run.started_at is not None and run.started_at <= at and (run.ended_at is None or at <= run.ended_at)
    )


def _producer(session_id: str) -> str:
    name = f"{IMPORT_PREFIX}{session_id}"
    return name if len(name) <= 200 else f"{IMPORT_PREFIX}{hashlib.sha256(session_id.encode()).hexdigest()}"

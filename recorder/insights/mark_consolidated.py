"""Marks journal lines as consolidated, in recorded order, in batches of one transaction each."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from recorder.database import sql
from recorder.journal import append

BATCH_LINES = 500
BATCH_BYTES = 4 * 1024 * 1024  # the database writes the whole row of a marked line again

# A line of a loop is ready when the loop was consolidated; a line of a session without a loop, when no loop
# of the session is open. A line without either is ready at once: a loop that adopts it later is consolidated
# all the same.
_READY = """SELECT j.id, j.size FROM recorder_journalevent j
            LEFT JOIN recorder_eventrecord e ON e.id = j.id
            LEFT JOIN recorder_readloop r ON r.loop = e.loop_id
            LEFT JOIN recorder_session s ON s.id = e.session_id
            WHERE j.id > %s AND j.consolidated_at IS NULL {}
            AND (e.id IS NULL OR r.loop IS NOT NULL
                 OR (e.loop_id IS NULL AND (s.id IS NULL OR s.open_loops = 0)))
            ORDER BY j.id LIMIT %s"""


def mark(project: int | None, now: datetime) -> Iterator[int]:
    """Mark the lines that are ready, of all projects if `project` is None; yield the size of each batch."""
    last, of_project = 0, "" if project is None else f"AND j.project_id = {project:d}"
    while rows := sql.read(_READY.format(of_project), last, BATCH_LINES):
        last = rows[-1][0]
        for lines in _batches(rows):
            append.mark_consolidated(lines, now)
            yield len(lines)


def _batches(rows: list[tuple[sql.Value, ...]]) -> Iterator[list[int]]:
    batch: list[int] = []
    size = 0
    for line, length in rows:
        batch.append(line)
        size += length
        if size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch

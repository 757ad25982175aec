"""Marks lines as consolidated, in recorded order, some in each transaction."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from recorder.database import sql
from recorder.journal import append

LINES = 500
BYTES = 4 * 1024 * 1024  # a line that is marked is written again as a whole

# A line waits for its loop to be read, one of a session but of no loop for the session's loops to end. What
# belongs to nothing yet waits for nothing: a loop that it comes to belong to is read all the same.
_READY = """SELECT j.id, j.size FROM recorder_journalevent j
            LEFT JOIN recorder_eventrecord e ON e.id = j.id
            LEFT JOIN recorder_readloop r ON r.loop = e.loop_id
            LEFT JOIN recorder_session s ON s.id = e.session_id
            WHERE j.id > %s AND j.consolidated_at IS NULL {}
            AND (e.id IS NULL OR r.loop IS NOT NULL
                 OR (e.loop_id IS NULL AND (s.id IS NULL OR s.open_loops = 0)))
            ORDER BY j.id LIMIT %s"""


def mark(project: int | None, now: datetime) -> Iterator[int]:
    """Mark what is ready, of every project without one; yield how many lines after each transaction."""
    last, narrow = 0, "" if project is None else f"AND j.project_id = {project:d}"
    while rows := sql.read(_READY.format(narrow), last, LINES):
        last = rows[-1][0]
        for lines in _portions(rows):
            append.mark_consolidated(lines, now)
            yield len(lines)


def _portions(rows: list[tuple[sql.Value, ...]]) -> Iterator[list[int]]:
    portion: list[int] = []
    size = 0
    for line, length in rows:
        portion.append(line)
        size += length
        if size >= BYTES:
            yield portion
            portion, size = [], 0
    if portion:
        yield portion

"""Finds new journal lines on PostgreSQL, where transactions commit in another order than their ids.

A sequence gives ids before the commit, so a poll may see line 12 while line 11 is still uncommitted. A
cursor at the highest visible id would then skip line 11. Therefore the cursor (`floor`) follows the
commits: a snapshot holds the last id that the sequence gave and the transactions that hold a project lock,
which every writer takes before its ids and keeps until its commit. When none of those transactions is
active any more, every id up to the snapshot is visible or was rolled back, and the floor moves to it.

Invariant: no line at or below `floor` becomes visible later. Lines above it are returned again by each
call; the caller skips those it knows. Cost: three queries a call; the lines returned are those since the
oldest active writer.
"""

from __future__ import annotations

from dataclasses import dataclass

from recorder.database import sql
from recorder.database.project_lock import LOCKS
from recorder.journal.read import LINES

NUMBERED = f"SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {LINES}_id_seq"  # noqa: S608  our own name
# A transaction that takes ids holds the lock of its project until its commit is visible. Not our own: what
# it wrote is visible here.
WRITING = """SELECT virtualtransaction FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = %s
             AND pid <> pg_backend_pid()
             AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"""
ABOVE = f"SELECT id FROM {LINES} WHERE id > %s ORDER BY id"  # noqa: S608


@dataclass(frozen=True, slots=True)
class Mark:
    """The last id that the sequence gave, and the transactions that may still commit ids up to it."""

    number: int
    writing: frozenset[str]


class CommittedLines:
    """Cursor over committed lines: none at or below `floor` appears later, once `is_settled`."""

    def __init__(self) -> None:
        self._mark = self._now()
        self.floor = self._mark.number
        self.is_settled = not self._mark.writing

    def lines(self) -> list[int]:
        """Return the ids of the visible lines above the floor, ascending; raise the floor if it can be."""
        now = self._now()
        found = [line for (line,) in sql.read(ABOVE, self.floor)]
        if not self._mark.writing & now.writing:
            self.floor, self._mark = self._mark.number, now
            self.is_settled = True
        return found

    def _now(self) -> Mark:
        # In this order: a transaction with an id at the first query still holds its lock, or has ended.
        ((number,),) = sql.read(NUMBERED)
        return Mark(number, frozenset(holder for (holder,) in sql.read(WRITING, LOCKS)))

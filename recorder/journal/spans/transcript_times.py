"""The time that the transcript of each session covers, and the recorded trees of loops that begin in it.

A loop derived from spans is left to the transcript if its tree began between the first and the newest line. A
session is known by a hash of its runtime and its id, as spans and transcripts both name it.

Cost: one query for a session and transaction; one more when lines reach the begin of a recorded tree. Written
once a transaction.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from recorder.database import sql
from recorder.journal.identity import hashed

# A prompt's span begins before the first line of a transcript: the runtime prepares its session in between.
LEAD_NS = 5_000_000_000
_NEVER = 2**63 - 1


@dataclass(slots=True)
class _Covered:
    """The time of one transcript; `next_ns` is a time before which no further tree is recorded."""

    first_ns: int = _NEVER
    newest_ns: int = -1
    next_ns: int | None = None
    has_changed: bool = False

    @property
    def since_ns(self) -> int:
        return self.first_ns - LEAD_NS


class TranscriptTimes:
    """The covered times of the sessions that one transaction touches."""

    def __init__(self, project: int) -> None:
        self._project = project
        self._known: dict[str, _Covered] = {}

    def covers(self, runtime: str, session: str, start_ns: int) -> bool:
        """Return whether the transcript of a session covers a time."""
        known = self._of(session_key(runtime, session))
        return known.since_ns <= start_ns <= known.newest_ns

    def extend(self, runtime: str, session: str, at_ns: int) -> list[int]:
        """Extend a covered time to a line; return the units with trees that it covers now."""
        key = session_key(runtime, session)
        known = self._of(key)
        if at_ns < known.first_ns:
            known.first_ns, known.next_ns, known.has_changed = at_ns, None, True
        if at_ns > known.newest_ns:
            known.newest_ns, known.has_changed = at_ns, True
        if known.next_ns is None:
            known.next_ns = self._next(key, known)
        if known.next_ns > known.newest_ns:
            return []
        known.next_ns = None
        return [
            unit
            for (unit,) in sql.read(
                "SELECT DISTINCT unit_id FROM recorder_spantree WHERE project_id = %s AND session = %s "
                "AND start_ns BETWEEN %s AND %s ORDER BY unit_id",
                *(self._project, key, known.since_ns, known.newest_ns),
            )
        ]

    def write_trees(self, unit: int, trees: Collection[tuple[str, int]]) -> None:
        """Replace the recorded trees of a unit: the keys of their sessions, and when they began."""
        sql.write("DELETE FROM recorder_spantree WHERE unit_id = %s", [[unit]])
        sql.write(
            "INSERT INTO recorder_spantree (project_id, session, start_ns, unit_id) VALUES (%s, %s, %s, %s)",
            [(self._project, key, start_ns, unit) for key, start_ns in sorted(trees)],
        )
        for known in self._known.values():
            known.next_ns = None

    def write(self) -> None:
        """Save the covered times that changed."""
        sql.write(
            """INSERT INTO recorder_transcripttime (project_id, session, first_ns, newest_ns)
               VALUES (%s, %s, %s, %s)
               ON CONFLICT (project_id, session)
               DO UPDATE SET first_ns = excluded.first_ns, newest_ns = excluded.newest_ns""",
            [
                (self._project, key, known.first_ns, known.newest_ns)
                for key, known in sorted(self._known.items())
                if known.has_changed
            ],
        )
        for known in self._known.values():
            known.has_changed = False

    def _of(self, key: str) -> _Covered:
        if key not in self._known:
            rows = sql.read(
                "SELECT first_ns, newest_ns FROM recorder_transcripttime "
                "WHERE project_id = %s AND session = %s",
                *(self._project, key),
            )
            self._known[key] = _Covered(*rows[0]) if rows else _Covered()
        return self._known[key]

    def _next(self, key: str, known: _Covered) -> int:
        """Return when the first recorded tree began that is not before the covered time."""
        ((found,),) = sql.read(
            "SELECT MIN(start_ns) FROM recorder_spantree "
            "WHERE project_id = %s AND session = %s AND start_ns >= %s",
            *(self._project, key, known.since_ns),
        )
        return _NEVER if found is None else int(found)


def session_key(runtime: str, session: str) -> str:
    """Return the hash by which a session of a runtime is known."""
    return hashed(f"{runtime} {session}")

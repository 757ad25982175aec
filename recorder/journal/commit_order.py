"""On PostgreSQL, which lines of the journal are new: they may be committed in another order than numbered."""

from __future__ import annotations

from dataclasses import dataclass

from recorder.database import sql
from recorder.journal.append import LINES, LOCKS

NUMBERED = f"SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {LINES}_id_seq"  # noqa: S608  our own name
# Whoever numbers lines holds its project's lock until what it wrote can be seen.
WRITING = """SELECT virtualtransaction FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = %s
             AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"""
ABOVE = f"SELECT id FROM {LINES} WHERE id > %s ORDER BY id"  # noqa: S608


@dataclass(frozen=True, slots=True)
class Mark:
    """Numbers given so far, and who may still commit some of them."""

    number: int
    writing: frozenset[str]


class Horizon:
    """`floor`: every line up to it that will ever be there can be seen, once `is_settled`."""

    def __init__(self) -> None:
        self._mark = self._now()
        self.floor = self._mark.number
        self.is_settled = not self._mark.writing

    def lines(self) -> list[int]:
        """Return the lines above the floor that can be seen, and raise the floor for the next time."""
        now = self._now()
        found = [line for (line,) in sql.read(ABOVE, self.floor)]
        if not self._mark.writing & now.writing:
            self.floor, self._mark = self._mark.number, now
            self.is_settled = True
        return found

    def _now(self) -> Mark:
        # In this order: whoever had a number before the first query still writes at the second, or has ended.
        ((number,),) = sql.read(NUMBERED)
        return Mark(number, frozenset(who for (who,) in sql.read(WRITING, LOCKS)))

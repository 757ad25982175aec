"""Removes the lines of one session from the journal. Every transaction leaves each other line readable.

First `encode_others`: the lines of other sessions that copy bytes of these lines are encoded without them.
Then `delete_some`, until nothing is left: from the newest line to the oldest, so that a line is never without
those that it copies from. Both may be interrupted, and repeated.

Cost: `encode_others` reads the encoding of each line that the producers sent on the days of the session, from
its first line on; the lines that it changes are restored once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from django.db import connection, transaction

from recorder.database import sql
from recorder.database.project_lock import lock
from recorder.journal.delta.encoding import Stored, sources
from recorder.journal.delta.without_lines import Homes, without
from recorder.journal.read import LINES
from recorder.models import JournalEvent, Producer, QuarantinedLine

SCANNED = 500  # lines of a transaction
DELETED = 1_000
EVENTS = "recorder_eventrecord"


class Removed(NamedTuple):
    """The deletions of one transaction; `lines` are without those derived from foreign ones."""

    lines: int
    size: int


class _Day(NamedTuple):
    """A producer and a day (UTC) on which it sent lines of the session, and the first of their numbers."""

    producer: int
    day: str
    first: int


def encode_others(project: int, session: int, newest: int) -> Iterator[int]:
    """Encode the lines up to `newest` without those of a session; yield how many each transaction changed."""
    for day in _days(session):
        homes, after = Homes(), day.first
        while True:
            with transaction.atomic():
                lock(project)
                rows = _rows(day, after, newest)
                changed = _encode(session, rows, homes)
            yield changed
            if len(rows) < SCANNED:
                break
            after = rows[-1][1]


def delete_some(project: int, session: int) -> Removed:
    """Delete the newest lines of a session, and the records of their places."""
    with transaction.atomic():
        lock(project)
        newest = f"WHERE session_id = %s ORDER BY id DESC LIMIT {DELETED}"
        rows = sql.read(f"SELECT id FROM {EVENTS} {newest}", session)  # noqa: S608  names
        ids = sql.list_param([line for (line,) in rows])
        found = sql.read(
            f"""SELECT producer_id, COUNT(seq), SUM(CASE WHEN kind = 'line' THEN 1 ELSE 0 END),
                SUM(CASE WHEN kind = 'line' THEN size ELSE 0 END)
                FROM {LINES} WHERE {sql.in_list("id")} GROUP BY producer_id""",  # noqa: S608  names
            ids,
        )
        sql.write(
            "UPDATE recorder_producer SET dropped = dropped + %s WHERE id = %s",
            [(numbers, producer) for producer, numbers, _, _ in found],
        )
        sql.write(f"DELETE FROM {EVENTS} WHERE {sql.in_list('id')}", [[ids]])  # noqa: S608  names
        sql.write(f"DELETE FROM {LINES} WHERE {sql.in_list('id')}", [[ids]])  # noqa: S608
    return Removed(sum(int(row[2]) for row in found), sum(int(row[3]) for row in found))


def has_lines(session: int) -> bool:
    """Return whether lines of a session are left."""
    return bool(sql.read(f"SELECT 1 FROM {EVENTS} WHERE session_id = %s LIMIT 1", session))  # noqa: S608  name


def totals(session: int) -> Removed:
    """Return how many lines a session has, and their bytes. Reads each row."""
    ((lines, size),) = sql.read(
        f"""SELECT COUNT(*), COALESCE(SUM(j.size), 0) FROM {EVENTS} e JOIN {LINES} j ON j.id = e.id
            WHERE e.session_id = %s AND j.kind = 'line'""",  # noqa: S608  names
        session,
    )
    return Removed(lines, int(size))


def forget_demo(project: int) -> None:
    """Delete the demo's producers and all that they sent."""
    demo = Producer.objects.filter(project_id=project, is_demo=True)
    QuarantinedLine.objects.filter(producer__in=demo).delete()
    JournalEvent.objects.filter(producer__in=demo).delete()
    demo.delete()


def _days(session: int) -> list[_Day]:
    day = "(j.received_at AT TIME ZONE 'UTC')::date" if _is_postgresql() else "DATE(j.received_at)"
    found = sql.read(
        f"""SELECT j.producer_id, {day}, MIN(j.seq) FROM {EVENTS} e JOIN {LINES} j ON j.id = e.id
            WHERE e.session_id = %s AND j.seq IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2""",  # noqa: S608  names
        session,
    )
    return [_Day(producer, str(day), first) for producer, day, first in found]


def _rows(day: _Day, after: int, newest: int) -> list[tuple[int, int, str]]:
    """Return id, number and encoding of the next lines of a day that copy bytes."""
    begin, end = ("%s::date", "%s::date + 1") if _is_postgresql() else ("%s", "DATE(%s, '+1 day')")
    zone = " AT TIME ZONE 'UTC'" if _is_postgresql() else ""
    return sql.read(
        f"""SELECT id, seq, pieces FROM {LINES} WHERE producer_id = %s AND seq > %s AND id <= %s
            AND received_at{zone} >= {begin} AND received_at{zone} < {end}
            AND pieces IS NOT NULL ORDER BY seq LIMIT {SCANNED}""",  # noqa: S608  names
        *(day.producer, after, newest, day.day, day.day),
    )


def _encode(session: int, rows: list[tuple[int, int, str]], homes: Homes) -> int:
    copied = {line: sources(line, pieces) for line, _, pieces in rows}
    deleted = _of_session(session, {*copied, *(source for each in copied.values() for source in each)})
    changed = 0
    for line, _, pieces in rows:
        if line in deleted or not copied[line] & deleted:
            continue
        needed = _needed(session, copied[line] & deleted)
        ((own,),) = sql.read(f"SELECT own FROM {LINES} WHERE id = %s", line)  # noqa: S608  name
        stored = without(line, Stored(bytes(own), pieces), needed, homes)
        sql.write(
            f"UPDATE {LINES} SET own = %s, pieces = %s WHERE id = %s",  # noqa: S608  name
            [(stored.own, stored.pieces, line)],
        )
        changed += 1
    return changed


def _of_session(session: int, lines: set[int]) -> set[int]:
    statement = f"SELECT id FROM {EVENTS} WHERE session_id = %s AND {sql.in_list('id')}"  # noqa: S608  names
    return {line for (line,) in sql.read(statement, session, sql.list_param(lines))}


def _needed(session: int, lines: set[int]) -> dict[int, Stored]:
    """Return the stored form of some lines of a session, and of those of it that these copy from."""
    found: dict[int, Stored] = {}
    waiting = lines
    while waiting:
        rows = sql.read(
            f"SELECT id, own, pieces FROM {LINES} WHERE {sql.in_list('id')}",  # noqa: S608  names
            sql.list_param(waiting),
        )
        found |= {line: Stored(bytes(own), pieces) for line, own, pieces in rows}
        copied = {source for line, _, pieces in rows for source in sources(line, pieces)} - found.keys()
        waiting = _of_session(session, copied) if copied else set()
    return found


def _is_postgresql() -> bool:
    return connection.vendor == "postgresql"

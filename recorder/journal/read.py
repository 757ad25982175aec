"""Reading recorded lines byte for byte: the only module that restores the encoding of the journal's rows.

One recursive query finds the rows that some lines are restored from (`delta/encoding.py` has the kinds of
copies). It follows all copies of a line that is restored whole, the literal copies of a line of which only a
local stretch is copied, and none of a row of which only literals are copied.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import date
from typing import NamedTuple

from django.db import connection

from recorder.database import sql
from recorder.journal.delta.encoding import LOCAL, OWN, WHOLE, Stored, fingerprint, restore

LINES = "recorder_journalevent"
# Of a row as it is written, beside project and kind.
COLUMNS = ("id", "producer_id", "seq", "received_at", "size", "masked", "original", "pieces", "own")
_COPIES = {
    # A cast reads the number after the bracket, without a second parse; no copy is as short as one byte.
    "sqlite": (
        "JSON_EACH(j.pieces) p",
        "j.id - CAST(SUBSTR(p.value, 2) AS INTEGER)",
        f"CASE SUBSTR(p.value, -3) WHEN ',{OWN}]' THEN {OWN} WHEN ',{LOCAL}]' THEN {LOCAL} ELSE {WHOLE} END",
        "p.type = 'array'",
    ),
    "postgresql": (
        "JSON_ARRAY_ELEMENTS(j.pieces::json) p",
        "j.id - (p.value ->> 0)::bigint",
        f"COALESCE((p.value ->> 3)::int, {WHOLE})",
        "JSON_TYPEOF(p.value) = 'array'",
    ),
}


class Pruned(LookupError):
    """The body of a requested line was pruned on `day`; its row and its records stay."""

    def __init__(self, day: date) -> None:
        super().__init__(f"bodies pruned on {day.day} {day:%b %Y}")
        self.day = day


def texts(lines: Collection[int]) -> dict[int, bytes]:
    """Return lines by their journal ids, without those that do not exist or are pruned. One query."""
    wanted = set(lines)
    stored = _stored(wanted)
    return {line: text for line, text in restore(stored.rows, stored.whole) if line in wanted}


def fingerprints(lines: Collection[int]) -> dict[int, bytes]:
    """Return the fingerprints of lines by their journal ids, also of pruned ones. One query."""
    wanted = set(lines)
    stored = _stored(wanted)
    prints = {line: fingerprint(text) for line, text in restore(stored.rows, stored.whole) if line in wanted}
    return dict(sorted((prints | stored.pruned).items()))


def pruned(lines: Collection[int]) -> date | None:
    """Return the last day on which bodies of these lines were pruned, None if all are there. One query."""
    statement = f"SELECT MAX(pruned_on) FROM {LINES} WHERE {sql.in_list('id')}"  # noqa: S608  names
    last: date | str | None = sql.read(statement, sql.list_param(lines))[0][0]
    return date.fromisoformat(last) if isinstance(last, str) else last


class _Stored(NamedTuple):
    """The rows that lines are restored from, those to restore whole, and prints of pruned lines."""

    rows: dict[int, Stored]
    whole: set[int]
    pruned: dict[int, bytes]


def _stored(lines: Collection[int]) -> _Stored:
    found = _Stored({}, set(), {})
    if not lines:
        return found
    for line, own, pieces, is_pruned, part in sql.read(_statement(), sql.list_param(lines)):
        if is_pruned:
            found.pruned[line] = bytes(own)
            continue
        found.rows[line] = Stored(bytes(own), pieces)
        if part == WHOLE:
            found.whole.add(line)
    return found


def _statement() -> str:
    """Return the query for the rows that lines need; a row comes once, with the widest part needed of it."""
    copies, source, part, is_copy = _COPIES[connection.vendor]
    return f"""WITH RECURSIVE needed(id, part) AS (
                  SELECT id, {WHOLE} FROM {LINES} WHERE {sql.in_list("id")}
                  UNION
                  SELECT {source}, {part} FROM needed n JOIN {LINES} j ON j.id = n.id CROSS JOIN {copies}
                  WHERE n.part > {OWN} AND {is_copy} AND (n.part = {WHOLE} OR {part} = {OWN}))
              SELECT j.id, j.own, CASE n.part WHEN {OWN} THEN NULL ELSE j.pieces END,
                     j.pruned_on IS NOT NULL, n.part
              FROM (SELECT id, MAX(part) AS part FROM needed GROUP BY id) n
              JOIN {LINES} j ON j.id = n.id"""  # noqa: S608  names

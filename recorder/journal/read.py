"""Recorded lines, byte for byte: the one place that puts together what the journal stores."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date
from typing import NamedTuple

from django.db import connection

from recorder.database import sql
from recorder.journal.delta.encoding import Stored, fingerprint, restore

_JOURNAL = "recorder_journalevent"
_SOURCES = {
    # A cast reads the number after the bracket, without a second parse.
    "sqlite": ("JSON_EACH(j.pieces) p", "j.id - CAST(SUBSTR(p.value, 2) AS INTEGER)", "p.type = 'array'"),
    "postgresql": (
        "JSON_ARRAY_ELEMENTS(j.pieces::json) p",
        "j.id - (p.value ->> 0)::bigint",
        "JSON_TYPEOF(p.value) = 'array'",
    ),
}


class Pruned(LookupError):
    """The body of a line that is asked for was pruned on `day`; its row and its records stay."""

    def __init__(self, day: date) -> None:
        super().__init__(f"bodies pruned on {day.day} {day:%b %Y}")
        self.day = day


def texts(lines: Collection[int]) -> dict[int, bytes]:
    """Return lines by their journal ids; those that are not there or pruned are left out. One query."""
    wanted = set(lines)
    return {line: text for line, text in restore(_stored(wanted).whole) if line in wanted}


def fingerprints(lines: Collection[int]) -> dict[int, bytes]:
    """Return the fingerprints of lines by their journal ids, also of pruned ones. One query."""
    wanted = set(lines)
    stored = _stored(wanted)
    prints = {line: fingerprint(text) for line, text in restore(stored.whole) if line in wanted}
    return dict(sorted((prints | stored.pruned).items()))


def pruned(lines: Collection[int]) -> date | None:
    """Return the last day on which bodies of these lines were pruned, None if all are there. One query."""
    statement = f"SELECT MAX(pruned_on) FROM {_JOURNAL} WHERE {sql.in_list('id')}"  # noqa: S608  names
    last: date | str | None = sql.read(statement, sql.list_param(lines))[0][0]
    return date.fromisoformat(last) if isinstance(last, str) else last


class _Stored(NamedTuple):
    """The rows of some lines and of all that they are made of, and the fingerprints of pruned ones."""

    whole: dict[int, Stored]
    pruned: dict[int, bytes]


def _stored(lines: Collection[int]) -> _Stored:
    if not lines:
        return _Stored({}, {})
    each, source, is_source = _SOURCES[connection.vendor]
    statement = f"""WITH RECURSIVE needed(id) AS (
                  SELECT id FROM {_JOURNAL} WHERE {sql.in_list("id")}
                  UNION
                  SELECT {source} FROM needed n JOIN {_JOURNAL} j ON j.id = n.id CROSS JOIN {each}
                  WHERE {is_source})
              SELECT j.id, j.own, j.pieces, j.pruned_on IS NOT NULL FROM needed n
              JOIN {_JOURNAL} j ON j.id = n.id"""  # noqa: S608  names
    found = _Stored({}, {})
    for line, own, pieces, is_pruned in sql.read(statement, sql.list_param(lines)):
        if is_pruned:
            found.pruned[line] = bytes(own)
        else:
            found.whole[line] = Stored(bytes(own), pieces)
    return found

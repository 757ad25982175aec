"""Recorded lines, byte for byte: the one place that puts together what the journal stores."""

from __future__ import annotations

from collections.abc import Collection

from django.db import connection

from recorder import tables
from recorder.pieces import Stored, restore

_JOURNAL = "recorder_journalevent"
_SOURCES = {
    "sqlite": ("JSON_EACH(j.pieces) p", "j.id - JSON_EXTRACT(p.value, '$[0]')", "p.type = 'array'"),
    "postgresql": (
        "JSON_ARRAY_ELEMENTS(j.pieces::json) p",
        "j.id - (p.value ->> 0)::bigint",
        "JSON_TYPEOF(p.value) = 'array'",
    ),
}


def texts(lines: Collection[int]) -> dict[int, bytes]:
    """Return lines by their journal ids; those that are not there are left out. One query."""
    if not lines:
        return {}
    wanted = set(lines)
    return {line: text for line, text in restore(stored(wanted)) if line in wanted}


def stored(lines: Collection[int]) -> dict[int, Stored]:
    """Return the rows of lines and of all that they are made of."""
    each, source, is_source = _SOURCES[connection.vendor]
    sql = f"""WITH RECURSIVE needed(id) AS (
                  SELECT id FROM {_JOURNAL} WHERE {tables.among("id")}
                  UNION
                  SELECT {source} FROM needed n JOIN {_JOURNAL} j ON j.id = n.id CROSS JOIN {each}
                  WHERE {is_source})
              SELECT j.id, j.own, j.pieces FROM needed n JOIN {_JOURNAL} j ON j.id = n.id"""  # noqa: S608  names
    return {line: Stored(bytes(own), pieces) for line, own, pieces in tables.read(sql, tables.several(lines))}

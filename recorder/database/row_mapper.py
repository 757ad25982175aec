"""How records lie in their tables: a column for each field, primary keys given before rows are written.

For the two modules that write, `journal` and `store`. Rows are read and written without the ORM, which
costs more than the database.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, date, datetime
from functools import lru_cache
from itertools import count
from operator import attrgetter
from typing import Any

from django.db import connection, models

from recorder import models as rows
from recorder.core import records as core_records
from recorder.database.row_codec import Column, has, written
from recorder.models.fields import JsonText

# In one statement, where a row costs half. SQLite's statements are kept ready: they are of few sizes.
ROWS = (64, 8, 1)
VALUES = 999  # SQLite may take no more

Value = Any  # what a column holds: the database driver's business
Values = list[Value]  # of rows, one behind the other

Kind = type[core_records.Record]
MODELS: dict[Kind, type[models.Model]] = {
    core_records.ModelConfig: rows.ModelConfig,
    core_records.Session: rows.Session,
    core_records.Group: rows.ParallelGroupRecord,
    core_records.Loop: rows.LoopRecord,
    core_records.Turn: rows.Turn,
    core_records.ToolCall: rows.ToolCall,
    core_records.ChildRef: rows.ChildLoopRef,
    core_records.Compaction: rows.Compaction,
    core_records.Approval: rows.Approval,
    core_records.TextBlock: rows.TextBlock,
    core_records.EventRecord: rows.EventRecord,
    core_records.Anomaly: rows.Anomaly,
}
# What nearly all records of a kind have in common: it is sent once for many.
USUAL: dict[Kind, dict[str, Value]] = {
    core_records.EventRecord: {"late": False, "origin": "", "loop_key": ""}
}


class Table:
    """One table: how a record becomes a row, and a row the record."""

    def __init__(self, record: Kind) -> None:
        self.record = record
        self.model = MODELS[record]
        self.name = self.model._meta.db_table
        self.fields = [each.name for each in fields(record)]
        found = {name: self._column(name) for name in self.fields}
        self.links = {name: _linked(column) for name, column in found.items() if _is_link(name, column)}
        self.has_project = hasattr(self.model, "project_id") and record is not core_records.EventRecord
        self.columns = {name: str(column.column) for name, column in found.items()}
        kept = ", ".join(
            f"{column} = excluded.{column}" for column in self.columns.values() if column != "id"
        )
        self._replace = f" ON CONFLICT (id) DO UPDATE SET {kept}"
        selected = ", ".join(f"r.{column}" for column in self.columns.values())
        self._select = f"SELECT {selected} FROM {self.name} r"
        self._from_row = [(name, _reader(column)) for name, column in found.items()]
        self.values: Callable[[core_records.Record], tuple[Value, ...]] = attrgetter(*self.fields)
        self._usual = USUAL.get(record, {})
        self._is_usual = has(self._usual)
        self._write = written(found, self.links, "each.{name}", moment())
        self._write_then = written(found, self.links, "each[{at}]", moment())
        varied = {name: column for name, column in found.items() if name not in self._usual}
        self._write_usual = written(varied, self.links, "each.{name}", moment())

    def put(self, records: Sequence[core_records.Record], project: int) -> None:
        """Write records, in place of those that have their keys; what they point at must have its key."""
        usual = [each for each in records if self._is_usual(each)]
        self._insert(self._write_usual(usual), project, self._replace, self._usual)
        if len(usual) < len(records):
            others = [each for each in records if not self._is_usual(each)]
            self._insert(self._write(others), project, self._replace, {})

    def rows_of(self, many: Iterable[Sequence[Value]], keys: Iterable[int]) -> Values:
        """Return the rows of what records' fields held, at whatever time, with these keys."""
        rows = self._write_then(many)
        rows[self.fields.index("id") :: len(self.fields)] = keys
        return rows

    def insert(self, rows: Values, project: int) -> None:
        self._insert(rows, project, "", {})

    def _insert(self, values: Values, project: int, otherwise: str, same: Mapping[str, Value]) -> None:
        columns = [column for name, column in self.columns.items() if name not in same]
        if self.has_project:
            same = {**same, "project_id": project}
        insert_all(self.name, same, columns, values, otherwise)

    def select(self, where: str, *values: Value) -> list[core_records.Record]:
        """Return records, oldest first, whose links are still primary keys; `where` may use the alias `r`."""
        sql = f"{self._select} {where} ORDER BY r.id"
        return [self._record(row) for row in read(sql, *values)]

    def _record(self, row: Sequence[Value]) -> core_records.Record:
        pairs = zip(self._from_row, row, strict=True)
        return self.record(**{name: from_row(value) for (name, from_row), value in pairs})

    def _column(self, name: str) -> Column:
        meta = self.model._meta
        column = meta.pk if name == "id" else meta.get_field(name)
        assert isinstance(column, models.Field)
        return column


_tables: dict[Kind, Table] = {}


def table(record: Kind) -> Table:
    """Return the table of a kind of record."""
    if record not in _tables:
        _tables[record] = Table(record)
    return _tables[record]


def read(sql: str, *values: Value) -> list[tuple[Value, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        found: list[tuple[Value, ...]] = cursor.fetchall()
    return found


def write(sql: str, many: Sequence[Sequence[Value]]) -> None:
    """Run one statement for many rows at once."""
    if not many:
        return
    with connection.cursor() as cursor:
        if len(many) == 1 and connection.vendor == "postgresql":  # half the price of many
            cursor.execute(sql, many[0])
        else:
            cursor.executemany(sql, many)


def moment() -> Callable[[datetime], Value]:
    """Return how a time in UTC is written: as Django does, which takes ten times as long to say it."""
    return _same if connection.vendor == "postgresql" else _naive_text


def insert(name: str, columns: Sequence[str]) -> str:
    return f"{_into(name, columns)} ({', '.join(['%s'] * len(columns))})"


def insert_all(
    name: str, same: Mapping[str, Value], columns: Sequence[str], values: Values, otherwise: str = ""
) -> None:
    """Insert rows: what is the `same` in all, by column, and the values of `columns`, row by row.

    `otherwise` says what becomes of a row whose key is there. No two may have one key.
    """
    common, width, columns = list(same.values()), len(columns), (*same, *columns)
    if common and connection.vendor == "postgresql":  # SQLite takes a value once for all that have its number
        values = [value for row in _cut(values, width) for value in (*common, *row)]
        common, width = [], len(columns)
    at = 0
    for size in _sizes(len(values) // width, (VALUES - len(common)) // width):
        end = len(values) - (len(values) - at) % (size * width)
        sql = _insert_sql(name, columns, len(common), size, otherwise)
        write(sql, [common + some for some in _cut(values[at:end], size * width)])
        at = end


@lru_cache(maxsize=256)
def _insert_sql(name: str, columns: Sequence[str], common: int, size: int, otherwise: str) -> str:
    """Return the SQL of as many rows, whose first columns have values in common."""
    numbers = [f"?{at}" for at in range(1, common + 1)]
    row = ", ".join(numbers + ["%s"] * (len(columns) - common))
    return f"{_into(name, columns)} {', '.join([f'({row})'] * size)}{otherwise}"


def _into(name: str, columns: Sequence[str]) -> str:
    return f"INSERT INTO {name} ({', '.join(columns)}) VALUES"


def _cut(values: Values, width: int) -> list[Values]:
    return [values[at : at + width] for at in range(0, len(values), width)]


def _sizes(number: int, most: int) -> Sequence[int]:
    """Return how many rows statements take, those of the first size first, to take that number."""
    if connection.vendor == "postgresql":
        return most, number % most or 1
    return min(most, ROWS[0]), *ROWS[1:]


def in_list(column: str) -> str:
    """Return the SQL for "is one of", whose value is made by `several`: one text however many there are."""
    if connection.vendor == "postgresql":
        return f"{column} = ANY(%s)"
    return f"{column} IN (SELECT value FROM json_each(%s))"


def list_param(values: Iterable[int] | Iterable[str]) -> Value:
    return list(values) if connection.vendor == "postgresql" else json.dumps(list(values))


def rows_of(alias: str, kind: str = "text") -> str:
    """Return the SQL for what `several` holds, all of one SQL type, as a table with one column, `value`."""
    if connection.vendor == "postgresql":
        return f"UNNEST(%s::{kind}[]) AS {alias}(value)"
    return f"json_each(%s) AS {alias}"


def next_ids(wanted: dict[str, int]) -> dict[str, Iterator[int]]:
    """Return fresh primary keys for as many rows of each table, to be used in the running transaction."""
    if connection.vendor == "postgresql":
        return {name: _from_sequence(name, number) for name, number in wanted.items()}
    # The transaction is IMMEDIATE: until it ends nobody else gives keys.
    last: dict[str, int] = dict(read("SELECT name, seq FROM sqlite_sequence")) if wanted else {}
    return {name: count(last.get(name, 0) + 1) for name in wanted}


def _from_sequence(name: str, number: int) -> Iterator[int]:
    sql = "SELECT nextval(pg_get_serial_sequence(%s, 'id')) FROM generate_series(1, %s)"
    return iter(sorted(row[0] for row in read(sql, name, number)))


def _is_link(name: str, column: Column) -> bool:
    return column.is_relation and name not in ("id", "producer", "price")


def _linked(column: Column) -> type[core_records.Record]:
    return next(record for record, model in MODELS.items() if model is column.related_model)


def _reader(column: Column) -> Callable[[Value], Value]:
    if isinstance(column, models.DateTimeField):
        return aware
    if isinstance(column, JsonText):
        return column.from_db_value
    return _same


def _naive_text(value: datetime) -> str:
    """Return what `isoformat` says without the zone, put together of parts: it takes four times as long."""
    utc = value if value.tzinfo is UTC else value.astimezone(UTC)
    micro = utc.microsecond
    fraction = f".{_THREE[micro // 1000]}{_THREE[micro % 1000]}" if micro else ""
    return f"{_day(utc.toordinal())} {_TWO[utc.hour]}:{_TWO[utc.minute]}:{_TWO[utc.second]}{fraction}"


@lru_cache(maxsize=64)
def _day(ordinal: int) -> str:
    return date.fromordinal(ordinal).isoformat()


_TWO = [f"{number:02}" for number in range(60)]
_THREE = [f"{number:03}" for number in range(1000)]


def aware(value: datetime | None) -> datetime | None:
    return value.replace(tzinfo=UTC) if value is not None and value.tzinfo is None else value


def _same(value: Value) -> Value:
    return value

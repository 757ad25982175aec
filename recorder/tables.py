"""How records lie in their tables: a column for each field, primary keys given before rows are written.

For the two modules that write, `journal` and `store`. Rows are read and written without the ORM, which
costs more than the database.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from datetime import UTC, date, datetime
from functools import lru_cache
from itertools import chain, count
from operator import attrgetter
from typing import Any, TypeAlias

from django.db import connection, models

from recorder import models as rows
from recorder.core import changes
from recorder.fields import JsonText

VALUES = 500  # in one statement, where a row costs half; SQLite may take no more than 999

Value = Any  # what a column holds: the database driver's business
Column: TypeAlias = "models.Field[Any, Any]"
AsRow = Callable[[Sequence[Value]], Sequence[Value]]

Kind = type[changes.Record]
MODELS: dict[Kind, type[models.Model]] = {
    changes.ModelConfig: rows.ModelConfig,
    changes.Session: rows.Session,
    changes.Group: rows.ParallelGroupRecord,
    changes.Loop: rows.LoopRecord,
    changes.Turn: rows.Turn,
    changes.ToolCall: rows.ToolCall,
    changes.ChildRef: rows.ChildLoopRef,
    changes.Compaction: rows.Compaction,
    changes.Approval: rows.Approval,
    changes.TextBlock: rows.TextBlock,
    changes.EventRecord: rows.EventRecord,
    changes.Anomaly: rows.Anomaly,
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
        self.has_project = hasattr(self.model, "project_id") and record is not changes.EventRecord
        self.columns = [str(column.column) for column in found.values()] + ["project_id"] * self.has_project
        kept = ", ".join(f"{column} = excluded.{column}" for column in self.columns if column != "id")
        self.replace = f" ON CONFLICT (id) DO UPDATE SET {kept}"
        self.values: Callable[[changes.Record], tuple[Value, ...]] = attrgetter(*self.fields)
        selected = ", ".join(f"r.{name}" for name in self.columns[: len(self.fields)])
        self._select = f"SELECT {selected} FROM {self.name} r"
        self._as_row = _as_row([_writer(name, column) for name, column in found.items()])
        self._from_row = [(name, _reader(column)) for name, column in found.items()]

    def row_of(self, values: Sequence[Value], project: int) -> Sequence[Value]:
        """Return the row of what a record's fields held, at whatever time."""
        row = self._as_row(values)
        return (*row, project) if self.has_project else row

    def rows(self, records: Iterable[changes.Record], project: int) -> list[Sequence[Value]]:
        """Return the rows of records; what they point at must have its key."""
        rows = list(map(self._as_row, map(self.values, records)))
        return [(*row, project) for row in rows] if self.has_project else rows

    def select(self, where: str, *values: Value) -> list[changes.Record]:
        """Return records, oldest first, whose links are still primary keys; `where` may use the alias `r`."""
        sql = f"{self._select} {where} ORDER BY r.id"
        return [self._record(row) for row in read(sql, *values)]

    def _record(self, row: Sequence[Value]) -> changes.Record:
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
        if len(many) == 1:  # half the price of many on PostgreSQL
            cursor.execute(sql, many[0])
        else:
            cursor.executemany(sql, many)


def moment() -> Callable[[datetime], Value]:
    """Return how a time in UTC is written: as Django does, which takes ten times as long to say it."""
    return _same if connection.vendor == "postgresql" else _naive_text


def insert(name: str, columns: Sequence[str], rows: int = 1) -> str:
    places = f"({', '.join(['%s'] * len(columns))})"
    return f"INSERT INTO {name} ({', '.join(columns)}) VALUES {', '.join([places] * rows)}"


def insert_all(
    name: str, columns: Sequence[str], many: Sequence[Sequence[Value]], otherwise: str = ""
) -> None:
    """Insert rows; `otherwise` says what becomes of one whose key is there. No two may have one key."""
    rows = VALUES // len(columns)
    whole = len(many) - len(many) % rows
    together = (chain.from_iterable(many[at : at + rows]) for at in range(0, whole, rows))
    write(insert(name, columns, rows) + otherwise, [list(values) for values in together])
    write(insert(name, columns) + otherwise, many[whole:])


def among(column: str) -> str:
    """Return the SQL for "is one of", whose value is made by `several`: one text however many there are."""
    if connection.vendor == "postgresql":
        return f"{column} = ANY(%s)"
    return f"{column} IN (SELECT value FROM json_each(%s))"


def several(values: Iterable[int] | Iterable[str]) -> Value:
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


def _linked(column: Column) -> type[changes.Record]:
    return next(record for record, model in MODELS.items() if model is column.related_model)


def _as_row(writers: Sequence[Callable[[Value], Value] | None]) -> AsRow:
    """Return the function that writes each value as its column has it, None where it stays as it is.

    It is made as text, as dataclasses are: to go through the writers for each row takes three times as long.
    """
    wrote = [
        f"v[{at}]" if writer is None else f"v[{at}] if v[{at}] is None else w{at}(v[{at}])"
        for at, writer in enumerate(writers)
    ]
    names = {f"w{at}": writer for at, writer in enumerate(writers)}
    made: AsRow = eval(f"lambda v: ({', '.join(wrote)},)", names)  # noqa: S307  of numbers alone
    return made


def _writer(name: str, column: Column) -> Callable[[Value], Value] | None:
    """Return how a value that is not None becomes a column's, None if it is one as it stands."""
    if _is_link(name, column):
        return _key
    if isinstance(column, models.DateTimeField):
        return moment()
    return column.get_prep_value if isinstance(column, JsonText) else None


def _reader(column: Column) -> Callable[[Value], Value]:
    if isinstance(column, models.DateTimeField):
        return aware
    if isinstance(column, JsonText):
        return column.from_db_value
    return _same


def _key(record: changes.Record) -> int:
    if not record.id:
        raise ValueError(f"a {type(record).__name__} is pointed at and was never saved")
    return record.id


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

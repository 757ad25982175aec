"""Map records to rows: one column for each field, primary keys assigned before rows are written.

Records and lines are read and written without the ORM, which costs more than the database.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from operator import attrgetter

from django.db import models

from recorder import models as rows
from recorder.core import records as core_records
from recorder.database.row_codec import Column, row_writer
from recorder.database.sql import Value, Values, aware, insert_all, read, timestamp_encoder
from recorder.models.fields import JsonText

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
# Values that nearly all records of a kind have in common: they are sent once for many rows.
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
        self._write = row_writer(found, self.links, timestamp_encoder())
        varied = {name: column for name, column in found.items() if name not in self._usual}
        self._write_usual = row_writer(varied, self.links, timestamp_encoder())

    def put(self, records: Sequence[core_records.Record], project: int) -> None:
        """Write records, replacing rows with their keys; the records they refer to must have keys."""
        usual = [each for each in records if self._is_usual(each)]
        self._insert(self._write_usual(usual), project, self._usual)
        if len(usual) < len(records):
            others = [each for each in records if not self._is_usual(each)]
            self._insert(self._write(others), project, {})

    def _is_usual(self, record: core_records.Record) -> bool:
        return all(getattr(record, name) == value for name, value in self._usual.items())

    def _insert(self, values: Values, project: int, same: Mapping[str, Value]) -> None:
        columns = [column for name, column in self.columns.items() if name not in same]
        if self.has_project:
            same = {**same, "project_id": project}
        insert_all(self.name, same, columns, values, self._replace)

    def select(self, where: str, *values: Value) -> list[core_records.Record]:
        """Return records, oldest first, whose links are still primary keys; `where` may use the alias `r`."""
        statement = f"{self._select} {where} ORDER BY r.id"
        return [self._record(row) for row in read(statement, *values)]

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


def _is_link(name: str, column: Column) -> bool:
    return column.is_relation and name not in ("id", "producer", "price")


def _linked(column: Column) -> type[core_records.Record]:
    return next(record for record, model in MODELS.items() if model is column.related_model)


def _reader(column: Column) -> Callable[[Value], Value]:
    if isinstance(column, models.DateTimeField):
        return aware
    if isinstance(column, JsonText):
        return column.from_db_value
    return _unchanged


def _unchanged(value: Value) -> Value:
    return value

"""Functions that convert records to the values of rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from math import nan
from operator import attrgetter, pos
from typing import Any, TypeAlias

from django.db import connection, models

from recorder.core import records
from recorder.models.fields import JsonText

Column: TypeAlias = "models.Field[Any, Any]"
Convert = Callable[[Any], Any]
Write = Callable[[Iterable[Any]], list[Any]]


def row_writer(columns: Mapping[str, Column], links: Collection[str], moment: Convert) -> Write:
    """Return the function that returns the values of many records' rows in one flat list.

    The function raises ValueError when a record refers to one that was never saved.
    """
    values_of = attrgetter(*columns)
    by_column = (_key if name in links else _converter(column, moment) for name, column in columns.items())
    converters = [(position, convert) for position, convert in enumerate(by_column) if convert is not None]
    null = nan if connection.vendor == "sqlite" else None  # SQLite stores NaN as NULL; NaN needs no adapter

    def write(many: Iterable[Any]) -> list[Any]:
        values: list[Any] = []
        for record in many:
            row = list(values_of(record))
            for position, convert in converters:
                if (value := row[position]) is not None:
                    row[position] = convert(value)
            values += [null if value is None else value for value in row]
        return values

    return write


def _converter(column: Column, moment: Convert) -> Convert | None:
    """Return the function that converts a value for its column; None if values need no conversion."""
    if isinstance(column, models.DateTimeField):
        return moment
    if isinstance(column, JsonText):
        return column.get_prep_value
    if isinstance(column, models.BooleanField) and connection.vendor == "sqlite":
        return pos  # an integer; for a bool the driver would look for an adapter
    return None


def _key(record: records.Record) -> int:
    if not record.id:
        raise ValueError(f"a {type(record).__name__} is pointed at and was never saved")
    return record.id

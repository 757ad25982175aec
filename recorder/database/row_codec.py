"""Functions that convert records to the values of rows, generated as source text once for each table.

A generic loop over the columns of each row takes Python three times as long. The text contains names of
fields only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from math import nan
from typing import Any, TypeAlias

from django.db import connection, models

from recorder.core import records
from recorder.models.fields import JsonText

Column: TypeAlias = "models.Field[Any, Any]"
Write = Callable[[Iterable[Any]], list[Any]]


def written(columns: Mapping[str, Column], links: Iterable[str], moment: Callable[[datetime], Any]) -> Write:
    """Return the function that returns the values of many records' rows in one flat list.

    The function raises ValueError when a record refers to one that was never saved.
    """
    made = []
    for name, column in columns.items():
        value = f"each.{name}"
        one = f"{value}.id or key({value})" if name in links else _made(column, value)
        made.append(f"null if {value} is None else {one}" if column.null else one)
    text = f"def write(many):\n rows = []\n for each in many:\n  rows += ({', '.join(made)},)\n return rows"
    names: dict[str, Any] = {
        "moment": moment,
        "json": JsonText().get_prep_value,
        "key": _key,
        "null": _null(),
    }
    exec(text, names)  # noqa: S102
    write: Write = names["write"]
    return write


def has(values: Mapping[str, Any]) -> Callable[[records.Record], bool]:
    """Return the function that checks whether a record's fields have these values."""
    are = [f"each.{name} == {value!r}" for name, value in values.items()]
    found: Callable[[records.Record], bool] = eval(f"lambda each: {' and '.join(are) or True}")  # noqa: S307
    return found


def _made(column: Column, value: str) -> str:
    """Return the Python expression that converts a value for its column."""
    if isinstance(column, models.DateTimeField):
        return f"moment({value})"
    if isinstance(column, JsonText):
        return f"json({value})"
    if isinstance(column, models.BooleanField) and connection.vendor == "sqlite":
        return f"+{value}"  # an integer; for a bool the driver would look for an adapter
    return value


def _null() -> Any:
    """Return the value written for NULL. SQLite stores NaN as NULL, and NaN needs no adapter."""
    return nan if connection.vendor == "sqlite" else None


def _key(record: records.Record) -> int:
    raise ValueError(f"a {type(record).__name__} is pointed at and was never saved")

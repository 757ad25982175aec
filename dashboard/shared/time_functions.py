"""Functions of times in SQL, for both databases: day and hour as UTC text, the time between two columns."""

from __future__ import annotations

from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import BigIntegerField, CharField, F, Func
from django.db.models.expressions import Combinable
from django.db.models.sql.compiler import SQLCompiler


class Day(Func):
    """The first ten characters of a time as SQLite stores it; TruncDay would call Python for each row."""

    function = "SUBSTR"
    template = "SUBSTR(%(expressions)s, 1, 10)"
    output_field = CharField()
    form = "YYYY-MM-DD"

    def as_postgresql(self, compiler: Any, connection: Any, **more: Any) -> Any:
        """Format a timestamp as SQLite stores it."""
        template = f"TO_CHAR(%(expressions)s AT TIME ZONE 'UTC', '{self.form}')"
        return self.as_sql(compiler, connection, template=template, **more)


class Hour(Day):
    """The first thirteen characters of a time: "2026-02-11 09"."""

    template = "SUBSTR(%(expressions)s, 1, 13)"
    form = "YYYY-MM-DD HH24"


class Microseconds(Func):
    """Microseconds from the first to the second of two times, at least 0: clocks of agents may go back.

    A list can be sorted and continued by them; NULL if either time is.
    """

    arity = 2
    output_field = BigIntegerField()

    def as_sqlite(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **more: Any) -> Any:
        begin, end = (compiler.compile(each) for each in self.get_source_expressions())
        return f"MAX(0, django_timestamp_diff({end[0]}, {begin[0]}))", [*end[1], *begin[1]]

    def as_postgresql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **more: Any) -> Any:
        begin, end = (compiler.compile(each) for each in self.get_source_expressions())
        length = f"(EXTRACT(EPOCH FROM ({end[0]} - {begin[0]})) * 1000000)::bigint"
        # GREATEST leaves out NULL.
        return f"CASE WHEN {length} < 0 THEN 0 ELSE {length} END", [*end[1], *begin[1]] * 2


class Milliseconds(Func):
    """Milliseconds from the first to the second of two times, at least 0; both are known.

    SQLite computes them itself, where `Microseconds` calls Python for each row.
    """

    arity = 2
    output_field = BigIntegerField()

    def as_sqlite(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **more: Any) -> Any:
        begin, end = (compiler.compile(each) for each in self.get_source_expressions())
        days = f"(JULIANDAY({end[0]}) - JULIANDAY({begin[0]}))"
        return f"MAX(0, CAST(ROUND({days} * 86400000) AS INTEGER))", [*end[1], *begin[1]]

    def as_postgresql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **more: Any) -> Any:
        begin, end = (compiler.compile(each) for each in self.get_source_expressions())
        length = f"ROUND(EXTRACT(EPOCH FROM ({end[0]} - {begin[0]})) * 1000)::bigint"
        return f"GREATEST(0, {length})", [*end[1], *begin[1]]


def microseconds(begin: str, end: Combinable) -> Microseconds:
    """Return the microseconds from a column to an expression."""
    return Microseconds(F(begin), end)

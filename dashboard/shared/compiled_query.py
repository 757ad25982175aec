"""Queries that are compiled once, and plain SELECTs: the dashboard's only way to SQL, and for reading only.

Django takes longer to compile a query than SQLite to run it. `compiled` runs the compiler once a process and
keeps the SQL; `select` runs SQL that a module wrote itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from copy import copy
from datetime import datetime
from functools import wraps
from itertools import count
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar

from django.db import connection
from django.db.models import Expression, Field, ForeignObject, IntegerField, Lookup, Model, QuerySet

from recorder.database import sql

if TYPE_CHECKING:
    from django.db.backends.base.base import BaseDatabaseWrapper
    from django.db.models.sql.compiler import SQLCompiler

Value = sql.Value
in_list, list_param, aware = sql.in_list, sql.list_param, sql.aware
select = sql.read

P = ParamSpec("P")
M = TypeVar("M", bound=Model)
Row = TypeVar("Row")


def compiled(query: Callable[P, QuerySet[M, Row]]) -> Callable[P, list[Row]]:
    """Have a function that returns a query read its rows.

    It runs once in a process: what it is given then is not values but their places, so it can do no more with
    them than to pass them on, one as it is and several to the lookup `among`. Where several are none, nothing
    is asked and nothing found.
    """
    kept: dict[str, _CompiledQuery] = {}

    @wraps(query)
    def read(*values: P.args, **_: P.kwargs) -> list[Row]:
        if any(_is_several(value) and not value for value in values):
            return []
        found = kept.get(connection.vendor)
        if found is None:
            said: Any = query
            found = kept[connection.vendor] = _compile(said(*map(_Place, count(), values)))
        return found.rows([_told(value) for value in values])

    return read


class _Place(Expression):
    """Where a value goes."""

    def __init__(self, number: int, value: object) -> None:
        super().__init__(IntegerField() if isinstance(value, int) else None)
        self.number = number

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> tuple[str, Any]:
        return "%s", [self]


@Field.register_lookup
@ForeignObject.register_lookup
class InList(Lookup):
    """Is one of several, however many they are; only in queries that are worded."""

    lookup_name = "in_list"

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> tuple[str, Any]:
        column, values = self.process_lhs(compiler, connection)
        return sql.in_list(column), [*values, self.rhs]


class _CompiledQuery(NamedTuple):
    """A query's words, and how its rows are read."""

    query: QuerySet[Any, Any]
    compiler: SQLCompiler
    sql: str
    values: Sequence[Any]

    def rows(self, values: Sequence[Any]) -> list[Any]:
        told = tuple(values[each.number] if isinstance(each, _Place) else each for each in self.values)
        compiler: Any = copy(self.compiler)  # it belongs to one thread
        compiler.connection = connection
        compiler.as_sql = lambda: (self.sql, told)
        asked: Any = SimpleNamespace(
            query=SimpleNamespace(get_compiler=lambda using: compiler),
            db=self.query.db,
            _known_related_objects={},
        )
        kind: Any = self.query._iterable_class  # noqa: SLF001  how rows become what they are read as
        return list(kind(asked))


def _compile(query: QuerySet[Any, Any]) -> _CompiledQuery:
    compiler = query.query.get_compiler(query.db)
    return _CompiledQuery(query, compiler, *compiler.as_sql())


def _is_several(value: object) -> bool:
    return isinstance(value, Collection) and not isinstance(value, str)


def _told(value: Any) -> Any:
    if _is_several(value):
        return sql.list_param(value)
    return connection.ops.adapt_datetimefield_value(value) if isinstance(value, datetime) else value

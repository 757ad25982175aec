"""Compiled queries and plain SELECTs: the dashboard's only access to SQL, read-only.

Django takes longer to compile a query than SQLite to run it. `compiled` calls the decorated function once a
process, with placeholder expressions in place of its arguments, and caches the SQL; later calls only bind
values. `select` runs SQL that a module contains as text.

Invariant: the cached SQL does not depend on values. A collection is bound as one parameter (`in_list`), so
that neither its length nor its content changes the SQL. Cost of a call: binding, the query and its rows.
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
    """Decorate a function that returns a queryset, so that it returns the rows.

    The function is called once per process and database vendor. Its arguments are placeholders then, not
    values: it may only pass them to the ORM, a single value as it is, a collection to the lookup `in_list`.
    A call with an empty collection returns no rows without a query.
    """
    queries: dict[str, _CompiledQuery] = {}

    @wraps(query)
    def read(*values: P.args, **_: P.kwargs) -> list[Row]:
        if any(_is_several(value) and not value for value in values):
            return []
        found = queries.get(connection.vendor)
        if found is None:
            build: Any = query
            # Two threads may both compile; they get the same SQL, and the second replaces the first.
            found = queries[connection.vendor] = _compile(build(*map(_Placeholder, count(), values)))
        return found.rows([_bound(value) for value in values])

    return read


class _Placeholder(Expression):
    """The position of an argument. It compiles to one parameter and stays in the parameter list itself."""

    def __init__(self, number: int, value: object) -> None:
        super().__init__(IntegerField() if isinstance(value, int) else None)
        self.number = number

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> tuple[str, Any]:
        return "%s", [self]


@Field.register_lookup
@ForeignObject.register_lookup
class InList(Lookup):
    """Membership in a collection of any length, bound as one parameter; only in compiled queries."""

    lookup_name = "in_list"

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> tuple[str, Any]:
        column, values = self.process_lhs(compiler, connection)
        return sql.in_list(column), [*values, self.rhs]


class _CompiledQuery(NamedTuple):
    """The SQL of a query, and what turns its rows into instances."""

    query: QuerySet[Any, Any]
    compiler: SQLCompiler
    sql: str
    values: Sequence[Any]

    def rows(self, values: Sequence[Any]) -> list[Any]:
        params = tuple(
            values[item.number] if isinstance(item, _Placeholder) else item for item in self.values
        )
        # Django's iterables compile their queryset again. A copy of the compiler that returns the cached SQL
        # keeps the rest of their work: converters, select_related and values_list.
        compiler: Any = copy(self.compiler)  # a compiler belongs to one thread
        compiler.connection = connection
        compiler.as_sql = lambda: (self.sql, params)
        queryset: Any = SimpleNamespace(
            query=SimpleNamespace(get_compiler=lambda using: compiler),
            db=self.query.db,
            _known_related_objects={},
        )
        kind: Any = self.query._iterable_class  # noqa: SLF001  no public name for it
        return list(kind(queryset))


def _compile(query: QuerySet[Any, Any]) -> _CompiledQuery:
    compiler = query.query.get_compiler(query.db)
    return _CompiledQuery(query, compiler, *compiler.as_sql())


def _is_several(value: object) -> bool:
    return isinstance(value, Collection) and not isinstance(value, str)


def _bound(value: Any) -> Any:
    if _is_several(value):
        return sql.list_param(value)
    return connection.ops.adapt_datetimefield_value(value) if isinstance(value, datetime) else value

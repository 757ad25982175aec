"""Django's backend for SQLite, with two changes.

It caches the conversion of placeholders, which Django makes each time a statement runs. And it reports a
commit that could not be synced at its source (`recorder.database.errors.SYNCS`).
"""

import sqlite3
from collections.abc import Iterable
from functools import cached_property, lru_cache
from types import TracebackType
from typing import Any

from django.db.backends.sqlite3 import base
from django.db.backends.sqlite3.base import FORMAT_QMARK_REGEX, SQLiteCursorWrapper
from django.db.utils import DatabaseErrorWrapper

from recorder.database.errors import SYNCS

KEPT = 512  # statements

# sqlite3 accepts these types, but looks for an adapter first, and finding none takes ten times as long.
sqlite3.register_adapter(bytes, bytes.__bytes__)
sqlite3.register_adapter(bool, int)
sqlite3.register_adapter(type(None), {None: None}.get)


class Cursor(SQLiteCursorWrapper):
    """Runs statements with `%s` for each value."""

    def convert_query(self, query: str, *, param_names: Iterable[str] | None = None) -> str:
        return (
            _marked(query) if param_names is None else super().convert_query(query, param_names=param_names)
        )


class _Errors(DatabaseErrorWrapper):
    """Every call of the driver runs in it."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(error, sqlite3.Error):
            SYNCS.note(error)
        super().__exit__(kind, error, traceback)


class DatabaseWrapper(base.DatabaseWrapper):
    cached_states: Any = None  # by `recorder.projection.state_cache`
    trusts_keys = False

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        self.cached_states = None
        self.trusts_keys = False
        return super().get_new_connection(conn_params)

    @cached_property
    def wrap_database_errors(self) -> DatabaseErrorWrapper:
        return _Errors(self)

    def disable_constraint_checking(self) -> bool:
        # Repeating the PRAGMA makes SQLite prepare all its statements again.
        if self.connection is None or not self.trusts_keys:
            self.trusts_keys = super().disable_constraint_checking()
        return self.trusts_keys

    def enable_constraint_checking(self) -> None:
        self.trusts_keys = False
        super().enable_constraint_checking()

    def create_cursor(self, name: str | None = None) -> Any:
        return self.connection.cursor(factory=Cursor)


@lru_cache(maxsize=KEPT)
def _marked(query: str) -> str:
    return FORMAT_QMARK_REGEX.sub("?", query).replace("%%", "%")

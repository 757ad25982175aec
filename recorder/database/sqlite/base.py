"""Django's backend for SQLite, with three changes.

It caches the conversion of placeholders, which Django makes each time a statement runs. It reports a commit
that could not be synced at its source (`recorder.database.errors.SYNCS`). And threads take turns to write.
"""

import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property, lru_cache
from types import TracebackType
from typing import Any

from django.db import OperationalError
from django.db.backends.sqlite3 import base
from django.db.backends.sqlite3.base import FORMAT_QMARK_REGEX, SQLiteCursorWrapper
from django.db.utils import DatabaseErrorWrapper

from recorder.database.errors import SYNCS
from recorder.database.sqlite.turns import Turns

KEPT = 512  # statements

# sqlite3 accepts these types, but looks for an adapter first, and finding none takes ten times as long.
sqlite3.register_adapter(bytes, bytes.__bytes__)
sqlite3.register_adapter(bool, int)
sqlite3.register_adapter(type(None), {None: None}.get)

_WRITES = re.compile(r"\s*(?:INSERT|UPDATE|DELETE|REPLACE)\b", re.IGNORECASE)
_turns: defaultdict[str, Turns] = defaultdict(Turns)  # by the name of the database


class Cursor(SQLiteCursorWrapper):
    """Runs statements with `%s` for each value; one that writes by itself has a turn of its own."""

    database: "DatabaseWrapper"

    def execute(self, query: str, params: Any = None) -> Any:
        if self.database.has_turn or not _WRITES.match(query):
            return super().execute(query, params)
        with self.database.turn():
            return super().execute(query, params)

    def executemany(self, query: str, param_list: Any) -> Any:
        if self.database.has_turn or not _WRITES.match(query):
            return super().executemany(query, param_list)
        with self.database.turn():
            return super().executemany(query, param_list)

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
    _turn: Turns | None = None  # that this connection has

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
        cursor = self.connection.cursor(factory=Cursor)
        cursor.database = self
        return cursor

    @property
    def has_turn(self) -> bool:
        """Whether this connection may write: it is in a transaction, which has a turn."""
        return self._turn is not None or self.in_atomic_block

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Have a turn for a statement that belongs to no transaction."""
        self._take_turn()
        try:
            yield
        finally:
            self._end_turn()

    def _start_transaction_under_autocommit(self) -> None:
        self._take_turn()
        try:
            super()._start_transaction_under_autocommit()  # type: ignore[misc]
        except BaseException:
            self._end_turn()
            raise

    def _commit(self) -> None:
        super()._commit()  # type: ignore[misc]  # if it raises, a rollback follows
        self._end_turn()

    def _rollback(self) -> None:
        try:
            super()._rollback()  # type: ignore[misc]
        finally:
            self._end_turn()

    def _close(self) -> None:
        try:
            super()._close()  # type: ignore[misc]
        finally:
            self._end_turn()

    def _take_turn(self) -> None:
        turn = _turns[str(self.settings_dict["NAME"])]
        if not turn.take(self.settings_dict["OPTIONS"].get("timeout", 5)):
            raise OperationalError("database is locked")
        self._turn = turn

    def _end_turn(self) -> None:
        turn, self._turn = self._turn, None
        if turn is not None:
            turn.end()


@lru_cache(maxsize=KEPT)
def _marked(query: str) -> str:
    return FORMAT_QMARK_REGEX.sub("?", query).replace("%%", "%")

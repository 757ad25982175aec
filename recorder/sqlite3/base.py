"""Puts each statement into SQLite's words once: Django goes through its text each time it runs."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from django.db.backends.sqlite3 import base
from django.db.backends.sqlite3.base import FORMAT_QMARK_REGEX, SQLiteCursorWrapper

KEPT = 512  # statements


class Cursor(SQLiteCursorWrapper):
    """Runs statements with `%s` for each value."""

    def convert_query(self, query: str, *, param_names: Iterable[str] | None = None) -> str:
        return (
            _marked(query) if param_names is None else super().convert_query(query, param_names=param_names)
        )


class DatabaseWrapper(base.DatabaseWrapper):
    remembered: Any = None  # by `recorder.recall`

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        self.remembered = None
        return super().get_new_connection(conn_params)

    def create_cursor(self, name: str | None = None) -> Any:
        return self.connection.cursor(factory=Cursor)


@lru_cache(maxsize=KEPT)
def _marked(query: str) -> str:
    return FORMAT_QMARK_REGEX.sub("?", query).replace("%%", "%")

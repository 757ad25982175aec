"""A database for one run: SQLite in the data folder, or a new one on a PostgreSQL server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg


@contextmanager
def fresh(url: str | None) -> Iterator[dict[str, str]]:
    """Yield the settings of an empty database; on a server it is dropped afterwards."""
    if url is None:
        yield {}
        return
    name = f"loopscope_{uuid4().hex[:12]}"
    with psycopg.connect(url.replace("postgres://", "postgresql://", 1), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        try:
            yield {"DATABASE_URL": urlunsplit(urlsplit(url)._replace(path=f"/{name}"))}
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")

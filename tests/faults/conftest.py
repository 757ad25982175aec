"""A real server for each fault tool, on the kind of database that the tests run on."""

import pytest
from django.conf import settings
from django.db import connection

from tests.faults.support import machine
from tests.faults.support.databases import fresh
from tests.support.server import Server


def server_url():
    """Return the address of the PostgreSQL server that the tests use, None on SQLite."""
    if connection.vendor == "sqlite":
        return None
    at = settings.DATABASES["default"]
    who = at["USER"] + (f":{at['PASSWORD']}" if at["PASSWORD"] else "")
    return f"postgres://{who}@{at['HOST'] or '127.0.0.1'}:{at['PORT'] or 5432}/postgres"


@pytest.fixture
def database():
    """Settings of an empty database."""
    with fresh(server_url()) as settings_:
        yield settings_


@pytest.fixture
def server(tmp_path, database):
    """A server that is not started yet."""
    server = Server(tmp_path, **database)
    yield server
    server.stop()


@pytest.fixture
def mounts():
    """The right to mount a small disk."""
    if not machine.can_mount():
        machine.is_missing(machine.MOUNTS)


@pytest.fixture
def traces():
    """The right to trace a process."""
    if not machine.can_trace():
        machine.is_missing(machine.TRACES)

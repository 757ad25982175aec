"""PostgreSQL that becomes unavailable under load and returns; settings that could lose acknowledged lines."""

import os
import socket
import subprocess
import sys
from contextlib import suppress
from threading import Thread
from urllib.error import HTTPError
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from tests.dashboard.server.test_store_faults import ready, send, until_stored
from tests.faults import outages
from tests.nodes.nodes import Reader
from tests.support.build import agent_start, line
from tests.support.server import ROOT, Server
from tests.support.wait import LONGEST_S, until

DATABASE_URL = os.environ.get("DATABASE_URL", "")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.postgres,
    pytest.mark.skipif(not DATABASE_URL.startswith("postgres"), reason="needs a PostgreSQL in DATABASE_URL"),
]


class Line:
    """A way to PostgreSQL that can be cut and mended."""

    def __init__(self, host, port):
        self._target = host, port
        self._pairs = []
        self._listener = None
        self.port = 0
        self.mend()

    def mend(self):
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self.port = self._listener.getsockname()[1]
        Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def cut(self):
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for end in self._pairs:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        self._pairs.clear()

    def _accept(self, listener):
        with suppress(OSError):
            while True:
                near, _ = listener.accept()
                far = socket.create_connection(self._target)
                self._pairs += [near, far]
                for source, sink in ((near, far), (far, near)):
                    Thread(target=carry, args=(source, sink), daemon=True).start()


def carry(source, sink):
    with suppress(OSError):
        while part := source.recv(65536):
            sink.sendall(part)
        sink.shutdown(socket.SHUT_WR)


@pytest.fixture
def database():
    """A database of its own; its address, and how to speak to the one that holds it."""
    import psycopg  # noqa: PLC0415  an extra

    name = f"faults_{uuid4().hex[:12]}"
    with psycopg.connect(DATABASE_URL, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}")
        yield urlsplit(DATABASE_URL)._replace(path=f"/{name}"), admin
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


def by_way_of(url, port):
    user = url.netloc.rpartition("@")[0]
    return url._replace(netloc=f"{user}{'@' if user else ''}127.0.0.1:{port}").geturl()


def test_what_was_acknowledged_is_there_when_it_comes_back(database, tmp_path):
    url, _ = database
    way = Line(url.hostname, url.port or 5432)
    server = Server(tmp_path, DATABASE_URL=by_way_of(url, way.port))
    server.start()
    try:
        until_stored(server, "p", 0, line(agent_start("s.a.1")))
        reader = Reader(server)
        assert "Sessions" in reader.read("/p/default/sessions")
        way.cut()
        status, receipt, again = send(server, "p", 1, line(agent_start("s.a.2")))
        assert (status, receipt["code"], again) == (503, "busy", "1")
        assert ready(server) == 503
        assert outages.status(server, "/api/v1/sessions") == 503
        with pytest.raises(HTTPError, match="503"):
            reader.read("/p/default/sessions")
        way.mend()

        assert until_stored(server, "p", 1, line(agent_start("s.a.2")))["upto"] == 1
        assert until_stored(server, "p", 0, line(agent_start("s.a.1")))["duplicates"] == 1
        until(lambda: ready(server) == 200, "it is not ready again")
        assert server.read("/api/v1/loops")["total"] == 2
    finally:
        server.stop()
        way.cut()


def test_asynchronous_commit_is_refused_at_start(database, tmp_path):
    url, admin = database
    admin.execute(f"ALTER DATABASE {url.path[1:]} SET synchronous_commit = off")
    server = Server(tmp_path, DATABASE_URL=url.geturl())
    command = [sys.executable, "manage.py", "up", "--port", str(server.port)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=server.environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=LONGEST_S,
    )

    assert done.returncode == 1
    assert "synchronous_commit off" in done.stderr
    assert "--accept-loss" in done.stderr

"""Fixtures: a faulty server, and clients of it that are closed after each test."""

import pytest

from loopscope_client import Client
from tests.loopscope_client.hostile_server import Hostile


@pytest.fixture
def server():
    server = Hostile()
    yield server
    server.close()


@pytest.fixture
def connect(server, tmp_path):
    clients = []

    def connect(**options):
        options = {"spool": tmp_path / "spool", "close_s": 0.1} | options
        clients.append(Client(options.pop("url", server.url), "token", **options))
        return clients[-1]

    yield connect
    server.released.set()
    for client in clients:
        client.close(timeout=0)

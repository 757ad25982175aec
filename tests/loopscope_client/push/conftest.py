"""A pusher and the options of the command against the faulty server."""

import io

import pytest

from loopscope_client.commands import push
from loopscope_client.push import ledger as ledgers
from loopscope_client.push.send import Pusher


@pytest.fixture
def stderr():
    return io.StringIO()


@pytest.fixture
def options(server, tmp_path):
    def options(**given):
        about = {"agent": ["pi"], "url": server.url, "token": "t", "machine": "desk"}
        places = {"home": tmp_path / "pi" / "sessions", "state": tmp_path / "state"}
        return push.Options(**about | places | given)

    return options


@pytest.fixture
def ledger(server, tmp_path):
    with ledgers.opened(tmp_path / "state", server.url) as ledger:
        yield ledger


@pytest.fixture
def pusher(server, ledger):
    pusher = Pusher(server.url, "t", "desk", ledger)
    yield pusher
    pusher.close()

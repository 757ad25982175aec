"""A service of the tests starts on another port if a program has taken its own, and keeps it afterwards."""

import shutil
import socket

import pytest

from tests.faults.support import machine
from tests.faults.support.services import Redis


@pytest.fixture
def redis():
    """A Redis that has not started, whose port another program has."""
    if shutil.which("redis-server") is None:
        machine.is_missing("redis-server")
    redis = Redis()
    with socket.create_server(("127.0.0.1", redis.port)):
        yield redis


def test_a_port_that_is_taken_is_given_up_before_the_first_start(redis):
    before = redis.port
    with redis:
        assert redis.port != before
        port = redis.port
        redis.kill()
        redis.start()
        assert redis.port == port

"""A stream gives the same records under every schedule."""

import pytest
from django.db import connection

from tests.faults import schedules
from tests.support.server import Server

pytestmark = pytest.mark.slow


def test_a_stream_leaves_the_same_records_under_every_schedule(server, tmp_path, database):
    server.start()
    servers = [server]
    if connection.vendor == "postgresql":
        (tmp_path / "other").mkdir()
        servers.append(Server(tmp_path / "other", **database))
        servers[1].start()
    try:
        digests = dict(schedules.run(servers, schedules=range(8), events=500, seed=8))
    finally:
        for other in servers[1:]:
            other.stop()

    assert len(digests) == 9
    assert len(set(digests.values())) == 1

"""Counts of attempts in Redis: shared, bounded, ended, and the process's own when Redis does not answer."""

import logging
import socket
from uuid import uuid4

import pytest
from django.conf import settings as real
from redis import Redis

from dashboard.security import shared_attempts
from dashboard.security.attempts import Attempts
from dashboard.security.shared_attempts import SharedAttempts
from tests.support.wait import until

needs_redis = pytest.mark.skipif(not real.REDIS_URL, reason="counts are shared through Redis")
CLOSED = "redis://127.0.0.1:1/0"  # no service has this port


@pytest.fixture
def name(settings):
    """A table of the test's own."""
    settings.REDIS_PREFIX = "loopscope-tests"
    return uuid4().hex


@needs_redis
def test_two_nodes_count_together_and_forget_together(name):
    here, there = (SharedAttempts(name, 100, 60) for _ in range(2))
    assert [table.count("ada", "10.0.0.1") for table in (here, there, here)] == [1, 2, 3]
    assert there.count("ada", "10.0.0.2") == 1
    assert there.count("ada1", "0.0.0.1") == 1

    there.forget("ada", "10.0.0.1")
    assert here.count("ada", "10.0.0.1") == 1
    here.clear()
    assert there.count("ada", "10.0.0.1") == 1


@needs_redis
def test_a_table_in_redis_is_bounded_ends_and_has_no_names(name):
    table = SharedAttempts(name, 50, 60)
    for each in range(200):
        table.count(f"user{each}", "")
    redis = Redis.from_url(real.REDIS_URL)
    keys = redis.keys(f"*{name}*")

    assert sorted(redis.zcard(key) if b"ends" in key else redis.hlen(key) for key in keys) == [50, 50]
    assert all(0 < redis.pttl(key) <= 60_000 for key in keys)
    assert not any(b"user" in field for key in keys if b"counts" in key for field in redis.hkeys(key))
    assert (table.count("user199", ""), table.count("user0", "")) == (2, 1)


@needs_redis
def test_counts_in_redis_end_after_the_window(name):
    table = SharedAttempts(name, 100, 0.2)
    assert [table.count("ada"), table.count("ada")] == [1, 2]
    until(lambda: table.count("ada") == 1)


def test_without_redis_the_process_counts_alone_and_says_so_once(name, settings, caplog):
    settings.REDIS_URL = CLOSED
    table = Attempts(name)
    with caplog.at_level(logging.WARNING):
        assert [table.count(("ada", "")) for _ in range(3)] == [1, 2, 3]
        table.forget(("ada", ""))
        assert table.count(("ada", "")) == 1
        table.clear()
    assert len(table) == 0
    assert [record.message for record in caplog.records] == [
        "Attempts to sign in are counted in each process (Redis: ConnectionError)"
    ]


def test_redis_that_is_away_is_not_queried_at_each_attempt(name, settings, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(shared_attempts, "monotonic", lambda: clock[0])
    with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts, and never answers
        settings.REDIS_URL = f"redis://127.0.0.1:{silent.getsockname()[1]}/0"
        table = SharedAttempts(name, 100, 60)
        counts = []
        run = table._count
        monkeypatch.setattr(table, "_count", lambda *args: counts.append(args) or run(*args))
        assert [table.count("ada") for _ in range(20)] == [None] * 20
        assert len(counts) == 1

        clock[0] += shared_attempts.AGAIN_S
        assert table.count("ada") is None
        assert len(counts) == 2


@needs_redis
def test_counting_is_shared_again_when_redis_is_back(name, monkeypatch, caplog):
    clock = [100.0]
    monkeypatch.setattr(shared_attempts, "monotonic", lambda: clock[0])
    table, other = (SharedAttempts(name, 100, 60) for _ in range(2))
    pool = table._redis.connection_pool
    port, pool.connection_kwargs["port"] = pool.connection_kwargs["port"], 1
    assert table.count("ada") is None

    pool.reset()
    pool.connection_kwargs["port"] = port
    other.count("ada")
    clock[0] += shared_attempts.AGAIN_S
    assert table.count("ada") == 2
    assert caplog.records[-1].message == "Attempts to sign in are counted for all nodes again"

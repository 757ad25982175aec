"""Acknowledged events are durable, as the system calls of a real server show."""

import pytest
from django.db import connection

from tests.faults import ack_order
from tests.faults.support.strace_log import Order

EVENT = r'7 pwrite64(9</d/l.sqlite3-wal>, "\0{\"mark\":\"<p:0>\"}", 4096, 56) = 4096'
SYNC = "7 fdatasync(9</d/l.sqlite3-wal>) = 0"
SYNC_BEGINS = "7 fdatasync(9</d/l.sqlite3-wal> <unfinished ...>"
SYNC_ENDS = "7 <... fdatasync resumed>) = 0"
RECEIPT = r'5 sendto(12<socket:[1]>, "{\"producer\":\"p\",\"upto\":0,\"acc"..., 90, 0, NULL, 0) = 90'
WELCOME = r'5 sendto(12<socket:[1]>, "\201~{\"op\":\"welcome\",\"v\":1,\"producer\":\"p\"", 40, 0) = 40'
ACK = r'5 sendto(12<socket:[1]>, "\201{\"op\":\"ack\",\"upto\":0,\"rejected\":[]", 40, 0) = 40'


@pytest.mark.slow
@pytest.mark.skipif(connection.vendor != "sqlite", reason="the log of PostgreSQL is another process's")
def test_no_acknowledgement_leaves_before_its_events_are_on_the_disk(tmp_path, traces):
    order = ack_order.run(tmp_path, acks=300, seed=1)

    assert order.violations == []
    assert order.acks >= 300
    assert order.events >= order.acks
    assert order.syncs > 10


@pytest.mark.parametrize(
    "trace",
    [
        (EVENT, SYNC, RECEIPT),
        (WELCOME, EVENT, SYNC, ACK),
        (EVENT, SYNC_BEGINS, SYNC_ENDS, RECEIPT),
    ],
)
def test_an_acknowledgement_after_the_sync_is_right(trace):
    order = Order().read(trace)

    assert (order.acks, order.events, order.violations) == (1, 1, [])


@pytest.mark.parametrize(
    "trace",
    [
        (EVENT, RECEIPT, SYNC),
        (WELCOME, EVENT, ACK, SYNC),
        (EVENT, SYNC_BEGINS, RECEIPT, SYNC_ENDS),
        (SYNC_BEGINS, EVENT, SYNC_ENDS, RECEIPT),
        (EVENT, SYNC.replace("= 0", "= -1 EIO (Input/output error)"), RECEIPT),
        (EVENT, SYNC.replace("-wal", ""), RECEIPT),
        (SYNC, RECEIPT),
        (EVENT, SYNC, ACK),
    ],
)
def test_an_acknowledgement_before_the_sync_is_a_violation(trace):
    order = Order().read(trace)

    assert (order.acks, len(order.violations)) == (1, 1)

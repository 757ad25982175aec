"""Acknowledged events survive `kill -9`, once and in order; spans also while they wait to be read."""

import json
import random
import time
import urllib.request

import pytest
from django.db import connection

from tests.faults import killer
from tests.faults.support import producer_stream
from tests.faults.support.compare_ledgers import compare
from tests.faults.support.depth import repeat
from tests.faults.support.producers import HTTPProducer
from tests.faults.support.span_sender import SpanSender
from tests.support.wait import LONGEST_S, until

pytestmark = pytest.mark.slow
SENDERS = 3  # of spans


def test_what_was_acknowledged_outlives_kills_at_random_moments(server):
    kills = repeat(12, deep=50) if connection.vendor == "sqlite" else repeat(6, deep=15)

    outcome = killer.run(server, kills, seed=kills)

    assert outcome.is_clean, outcome
    assert outcome.acknowledged > kills


def test_the_comparison_sees_what_is_lost_altered_and_was_never_sent(server):
    server.start()
    producer = HTTPProducer("p", server.port, server.token, seed=1)
    server.agent("p").send(*producer_stream.lines("p", 0, 9), producer_stream.nth("p", 10))
    producer.acked, producer.sent = 12, 12

    outcome = compare(server, [producer])

    assert (outcome.lost, outcome.altered, outcome.stored, outcome.is_clean) == (3, 1, 10, False)


def read(server, path):
    request = urllib.request.Request(f"{server.url}/{path}")
    request.add_header("Authorization", f"Bearer {server.token}")
    with urllib.request.urlopen(request, timeout=LONGEST_S) as answer:
        return answer.read()


def span_ids(server, session):
    """Return the ids of the spans of a session's stored lines."""
    events = read(server, f"api/v1/sessions/{session}/events?envelope=1").splitlines()
    lines = [json.loads(line)["event"] for line in events]
    return [
        line["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["spanId"]
        for line in lines
        if "resourceSpans" in line
    ]


def waiting(server):
    text = read(server, "metrics").decode()
    return float(text.partition("\nloopscope_spans_waiting_bytes ")[2].split("\n")[0])


def test_acknowledged_spans_outlive_kills_while_they_wait(server):
    kills = repeat(4, deep=8) if connection.vendor == "sqlite" else repeat(2, deep=4)
    chance = random.Random(kills)
    server.start()
    senders = [SpanSender(number + 1, server.port, server.token) for number in range(SENDERS)]
    for sender in senders:
        sender.start()
    for _ in range(kills):
        before = sum(sender.acked for sender in senders)
        until(lambda before=before: sum(sender.acked for sender in senders) > before + 40)
        until(lambda: waiting(server) > 0, "no span is acknowledged and not yet read")
        time.sleep(chance.uniform(0, 0.05))  # any moment of a commit may be the last
        server.kill()
        server.start()
    for sender in senders:
        sender.stopping.set()
        sender.join()

    until(lambda: waiting(server) == 0, "acknowledged spans are not read")
    server.manage("spans", "retry")  # a body that three kills hit while it was read is set aside, and kept

    for sender in senders:
        assert not sender.faults
        stored = [int(each, 16) for each in span_ids(server, sender.trace)]
        assert len(stored) == len(set(stored))
        assert set(range(1, sender.acked + 1)) <= set(stored) <= set(range(1, sender.sent + 1))
    assert server.manage("check_integrity").startswith("nothing found")

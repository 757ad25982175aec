"""Acknowledged events survive `kill -9`, once and in order."""

import pytest
from django.db import connection

from tests.faults import killer
from tests.faults.support import producer_stream
from tests.faults.support.compare_ledgers import compare
from tests.faults.support.producers import HTTPProducer

pytestmark = pytest.mark.slow


def test_what_was_acknowledged_outlives_kills_at_random_moments(server):
    kills = 50 if connection.vendor == "sqlite" else 15

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

"""A token above its rate is asked to wait, and its lines are stored afterwards."""

import pytest
from channels.db import database_sync_to_async

from recorder.database.errors import Busy
from recorder.ingest.limits import rate_limit as rates_module
from recorder.ingest.limits.rate_limit import BURST_S, Rates
from recorder.journal.batch import Batch
from recorder.models import AccessToken
from tests.support.build import line
from tests.support.endpoint_clients import Client, post

RATE = 100
BURST = int(RATE * BURST_S)


@pytest.fixture
def rates(monkeypatch):
    limited = Rates(RATE, 0)
    monkeypatch.setattr(rates_module, "rates", limited)
    return limited


class Clock:
    """A clock that stands still until the test moves it: a slow client would earn the rate of its delay."""

    now = 1_000.0

    def __call__(self):
        return self.now


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(rates_module, "monotonic", clock)
    return clock


def sent(rates, events, token=1):
    rates.ask(token)
    rates.count(Batch(1, "p", 0, [b"x"] * events, token=token))


def lines(first, number):
    return [line({"type": "Note", "number": n}) for n in range(first, first + number)]


@pytest.mark.parametrize(("events_s", "bytes_s"), [(RATE, 0), (0, RATE), (RATE, RATE)])
def test_a_burst_passes_and_what_is_beyond_it_waits(clock, events_s, bytes_s):
    rates = Rates(events_s, bytes_s)
    for _ in range(10):
        sent(rates, BURST // 10)
    sent(rates, RATE)
    with pytest.raises(Busy) as raised:
        sent(rates, 1)
    assert raised.value.code == "rate_limited"
    assert 0 < raised.value.retry_after_ms <= 1001

    clock.now += raised.value.retry_after_ms / 1000  # the wait that is asked for
    sent(rates, 1)


def test_tokens_do_not_count_for_one_another():
    rates = Rates(RATE, 0)
    sent(rates, 2 * BURST, token=1)
    sent(rates, 1, token=2)


def test_without_a_limit_nothing_is_counted():
    rates = Rates(0, 0)
    for _ in range(100):
        sent(rates, 100_000)


def test_http_gets_429_and_the_time_to_wait(token, rates):
    body = b"\n".join(lines(0, BURST + 50 * RATE))
    assert post(body, token, x_producer="p", x_first_seq=0).status == 200

    answer = post(lines(0, 1)[0], token, x_producer="p", x_first_seq=0)

    assert (answer.status, answer.json["code"]) == (429, "rate_limited")
    assert int(answer.headers["retry-after"]) == 51  # 50,001 ms, in whole seconds


async def test_a_socket_gets_the_sequence_number_to_continue_from(token, rates, clock):
    known = await database_sync_to_async(AccessToken.objects.get)()
    rates.count(Batch(1, "others", 0, [b""] * (BURST + RATE), token=known.pk))
    async with Client(token) as client:
        await client.hello("p")
        await client.send(0, *lines(0, 3))
        nack = await client.receive()
        assert (nack["op"], nack["code"], nack["from"]) == ("nack", "rate_limited", 0)

        clock.now += nack["retry_after_ms"] / 1000
        await client.send(0, *lines(0, 3))
        assert await client.upto(2) == []

"""A token above its rate is asked to wait, and its lines are stored afterwards."""

import pytest
from channels.db import database_sync_to_async
from django.conf import settings

from recorder.access import tokens
from recorder.database.errors import Busy
from recorder.ingest.limits import rate_limit as rates_module
from recorder.ingest.limits.rate_limit import BURST_S, Rates
from recorder.models import AccessToken
from tests.support.build import line
from tests.support.endpoint_clients import HOST, Client, post, request

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
    rates.count(token, events, events)


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


@pytest.fixture
def by_default():
    limits = settings.LOOPSCOPE_LIMITS
    return Rates(limits["token_events_s"], limits["token_bytes_s"])


def send_each_second(rates, clock, lines, size, seconds):
    for _ in range(seconds):
        rates.ask(1)
        rates.count(1, lines, lines * size)
        clock.now += 1


def test_a_token_may_by_default_send_three_times_5_000_spans_a_second_for_ever(by_default, clock):
    send_each_second(by_default, clock, 15_000, 3 * 1024, seconds=600)


@pytest.mark.parametrize(("spans", "size"), [(84_000, 200), (4_000, 64 * 1024)], ids=["many", "large"])
def test_a_token_that_floods_waits_by_default(by_default, clock, spans, size):
    with pytest.raises(Busy, match="rate_limited"):
        send_each_second(by_default, clock, spans, size, seconds=60)


def otlp(token, signal="traces", body=b"{}"):
    headers = [HOST, (b"authorization", f"Bearer {token}".encode()), (b"content-type", b"application/json")]
    return request(f"/v1/{signal}", body, method="POST", headers=headers)


def test_a_token_that_floods_is_refused_at_every_endpoint_before_its_body_is_read(project, token, rates):
    other = tokens.issue(project, "other", ["ingest"])
    assert post(b"\n".join(lines(0, BURST + 50 * RATE)), token).status == 200

    refused = [post(b"{", token, content_encoding="gzip"), otlp(token, body=b"{"), otlp(token, "metrics")]
    assert [(answer.status, answer.headers["retry-after"]) for answer in refused] == [(429, "51")] * 3
    assert [answer.status for answer in (post(lines(0, 1)[0], other), otlp(other))] == [200, 200]


def test_bodies_of_metrics_count_by_their_bytes(token, monkeypatch):
    monkeypatch.setattr(rates_module, "rates", Rates(0, 1))
    body = b'{"resourceMetrics": []}'

    assert [otlp(token, "metrics", body).status for _ in range(2)] == [200, 429]


def test_http_gets_429_and_the_time_to_wait(token, rates):
    body = b"\n".join(lines(0, BURST + 50 * RATE))
    assert post(body, token, x_producer="p", x_first_seq=0).status == 200

    answer = post(lines(0, 1)[0], token, x_producer="p", x_first_seq=0)

    assert (answer.status, answer.json["code"]) == (429, "rate_limited")
    assert int(answer.headers["retry-after"]) == 51  # 50,001 ms, in whole seconds


async def test_a_socket_gets_the_sequence_number_to_continue_from(token, rates, clock):
    known = await database_sync_to_async(AccessToken.objects.get)()
    rates.count(known.pk, BURST + RATE, 0)
    async with Client(token) as client:
        await client.hello("p")
        await client.send(0, *lines(0, 3))
        nack = await client.receive()
        assert (nack["op"], nack["code"], nack["from"]) == ("nack", "rate_limited", 0)

        clock.now += nack["retry_after_ms"] / 1000
        await client.send(0, *lines(0, 3))
        assert await client.upto(2) == []

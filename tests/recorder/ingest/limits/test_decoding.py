"""The bytes of bodies being decoded are limited in all and for each token, which takes turns."""

import asyncio
import threading

import pytest
from asgiref.sync import async_to_sync
from hypothesis import given
from hypothesis import strategies as st

from recorder.database.errors import Busy
from recorder.ingest.events import endpoint as http
from recorder.ingest.limits.decoding import Decoding
from recorder.ingest.otlp import endpoint
from tests.support.endpoint_clients import HOST, post, request


def test_a_body_alone_may_hold_more_than_the_limit():
    async def run():
        return await Decoding(10, 5).run(1, b"x" * 20, lambda hold: hold(100))

    async_to_sync(run)()


@pytest.mark.parametrize(("other", "limit", "share"), [(2, 10, 10), (1, 100, 10)], ids=["all", "share"])
def test_a_body_that_would_exceed_the_limit_beside_another_is_refused(other, limit, share):
    decoding, began, may_end = Decoding(limit, share), threading.Event(), threading.Event()

    def read(_hold):
        began.set()
        may_end.wait()

    async def run():
        first = asyncio.create_task(decoding.run(1, b"x" * 8, read))
        await asyncio.to_thread(began.wait)
        with pytest.raises(Busy):
            await decoding.run(other, b"x" * 8, lambda _hold: None)
        may_end.set()
        await first
        await decoding.run(other, b"x" * 8, lambda _hold: None)

    async_to_sync(run)()

    assert decoding.used == 0


def test_bodies_of_a_token_are_decoded_one_after_the_other_and_another_token_meanwhile():
    decoding, began, may_end, order = Decoding(), threading.Event(), threading.Event(), []

    def slow(_hold):
        began.set()
        may_end.wait()
        order.append("slow")

    async def run():
        first = asyncio.create_task(decoding.run(1, b"", slow))
        await asyncio.to_thread(began.wait)
        second = asyncio.create_task(decoding.run(1, b"", lambda _hold: order.append("second")))
        await decoding.run(2, b"", lambda _hold: order.append("other"))
        may_end.set()
        await asyncio.gather(first, second)

    async_to_sync(run)()

    assert order == ["other", "slow", "second"]


def test_what_a_body_holds_is_released_when_it_fails():
    decoding = Decoding()

    def fail(hold):
        hold(100)
        raise ValueError

    async def run():
        with pytest.raises(ValueError, match=r"^$"):
            await decoding.run(1, b"x", fail)

    async_to_sync(run)()

    assert decoding.used == 0


def test_a_body_whose_request_is_gone_takes_no_more():
    decoding, began, may_go_on, ended = Decoding(), threading.Event(), threading.Event(), []

    def read(hold):
        began.set()
        may_go_on.wait()
        try:
            hold(100)
        except Busy:
            ended.append("refused")
            raise

    async def run():
        task = asyncio.create_task(decoding.run(1, b"x", read))
        await asyncio.to_thread(began.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        may_go_on.set()
        await decoding.run(1, b"x", lambda _hold: None)

    async_to_sync(run)()

    assert decoding.used == 0


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 60)), max_size=40))
def test_the_sum_of_all_bodies_stays_within_the_limit_unless_one_is_alone(bodies):
    decoding, held = Decoding(100, 50), {}
    for number, (token, size) in enumerate(bodies):
        try:
            decoding.change(token, size, 0)
            held[number] = (token, size)
        except Busy:
            assert decoding.used
        assert decoding.used == sum(size for _, size in held.values())
        assert decoding.used <= 100 or len([size for _, size in held.values() if size]) == 1
    for token, size in held.values():
        decoding.change(token, -size, size)
    assert decoding.used == 0


def test_a_body_beyond_the_limit_is_answered_503_with_retry_after(token, monkeypatch):
    full = Decoding(10, 10)
    full.change(0, 10, 0)
    monkeypatch.setattr(http, "decoding", full)
    monkeypatch.setattr(endpoint, "decoding", full)
    headers = [(b"authorization", f"Bearer {token}".encode()), (b"content-type", b"application/json")]

    spans = request("/v1/traces", b"{}" + b" " * 50, method="POST", headers=[HOST, *headers])
    events = post(b"\n" * 2_000, token)

    assert [spans.status, events.status] == [503, 503]
    assert [spans.headers["retry-after"], events.headers["retry-after"]] == ["1", "1"]

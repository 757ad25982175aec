"""The WebSocket endpoint: every close code of the protocol, and what ends a connection."""

import asyncio

import pytest
from channels.db import database_sync_to_async
from django.conf import settings

from recorder.access import tokens
from recorder.ingest.commit import writer
from recorder.ingest.limits import rate_limit
from recorder.journal.read import texts
from recorder.models import JournalEvent
from tests.support.build import agent_end, agent_start, line, turn_start
from tests.support.endpoint_clients import Client

GOOD = [line(agent_start("s.a.1")), line(turn_start("s.a.1")), line(agent_end("s.a.1"))]


@database_sync_to_async
def stored():
    return list(texts(JournalEvent.objects.values_list("id", flat=True)).values())


async def test_eight_unreadable_frames_in_a_minute_end_the_connection(token):
    async with Client(token) as client:
        await client.hello()
        for _ in range(8):
            await client.send_frame("nonsense")
            await client.receive()

        assert await client.code() == 4400


async def test_a_second_connection_of_a_producer_takes_over(token):
    async with Client(token) as first, Client(token) as second:
        await first.hello("p")
        await first.send(0, GOOD[0])
        await first.upto(0)

        assert (await second.hello("p"))["high_water"] == 0
        assert await first.code() == 4409
        await second.send(1, *GOOD[1:])
        await second.upto(2)


@pytest.mark.parametrize("version", [0, 2, "1", None, True])
async def test_another_version_is_refused(token, version):
    async with Client(token) as client:
        await client.send_frame({"op": "hello", "v": version, "producer": "p"})

        assert await client.code() == 4426


async def test_without_a_token_the_connection_ends(project):
    async with Client() as client:
        assert await client.code() == 4401


async def test_a_cookie_is_no_token(project):
    async with Client(headers=[(b"cookie", b"loopscope_session=abc")]) as client:
        assert await client.code() == 4401


async def test_a_token_to_read_may_not_write(project):
    reader = await database_sync_to_async(tokens.issue)(project, "reader", ["read"])
    async with Client(reader) as client:
        assert await client.code() == 4403


@pytest.mark.parametrize(
    "origin", [b"http://evil.example", b"https://127.0.0.1:8000", b"http://localhost:8000", b"null"]
)
async def test_a_page_of_another_site_is_refused(token, origin):
    async with Client(token, headers=[(b"origin", origin)]) as client:
        assert await client.code() == 4403


async def test_a_binary_frame_ends_the_connection(token):
    async with Client(token) as client:
        await client.send_bytes(b"\x00")

        assert await client.code() == 1003


async def test_a_frame_that_is_too_big_ends_the_connection(token):
    async with Client(token) as client:
        await client.send_frame("x" * (settings.LOOPSCOPE_LIMITS["frame_bytes"] + 1))

        assert await client.code() == 1009


async def test_a_silent_client_is_not_waited_for(token, settings):
    settings.LOOPSCOPE_LIMITS = {**settings.LOOPSCOPE_LIMITS, "hello_s": 0.05}
    async with Client(token) as client:
        assert await client.code() == 4408


async def test_a_format_that_is_not_read_ends_the_connection(token):
    async with Client(token, query="format=nonsense") as client:
        assert (await client.receive())["code"] == "bad_format"
        assert await client.code() == 4400


async def test_a_producer_of_another_format_ends_the_connection(token):
    async with Client(token) as client:
        await client.hello()
        await client.send(0, *GOOD)
        await client.receive()
    async with Client(token, query="format=cagent") as client:
        await client.send_frame('{"op":"hello","v":1,"producer":"p"}')
        answer = await client.receive()
        assert (answer["op"], answer["code"]) == ("error", "bad_format")
        assert await client.code() == 4400


async def test_a_greeting_that_cannot_be_stored_asks_the_client_to_come_back(token):
    async with Client(token) as client:
        await database_sync_to_async(writer.writer().close)()
        await client.send_frame({"op": "hello", "v": 1, "producer": "p"})

        assert await client.code() == 1001


async def test_a_bug_of_ours_ends_the_connection_and_is_logged(token, monkeypatch, caplog):
    async with Client(token) as client:
        await client.hello()
        monkeypatch.setattr("recorder.ingest.websocket.consumers.read", lambda text, **_: 1 / 0)
        await client.send(0, *GOOD)

        assert await client.code() == 1011
    assert "ZeroDivisionError" in caplog.text


async def test_what_comes_after_the_connection_was_ended_is_not_stored(token):
    async with Client(token) as client:
        await client.hello()
        await client.send_bytes(b"\x00")
        await client.send(0, *GOOD)

        assert await client.code() == 1003
    assert await stored() == []


async def test_a_client_that_is_read_no_further_for_now_can_be_ended(token, monkeypatch):
    async def wait_for_ever(batch):
        await asyncio.Event().wait()

    monkeypatch.setattr("recorder.ingest.websocket.consumers.MARK_BYTES", 0)
    monkeypatch.setattr("recorder.ingest.websocket.consumers.RECHECK_S", 0.05)
    monkeypatch.setattr("recorder.ingest.websocket.consumers.submit", wait_for_ever)
    async with Client(token) as client:
        await client.hello()
        await client.send(0, *GOOD)
        await database_sync_to_async(tokens.revoke)(token)

        assert await client.code() == 4401


async def test_a_revoked_token_ends_the_connection(token, monkeypatch):
    monkeypatch.setattr("recorder.ingest.websocket.consumers.RECHECK_S", 0.05)
    async with Client(token) as client:
        await client.hello()
        await database_sync_to_async(tokens.revoke)(token)

        assert await client.code() == 4401


@pytest.mark.parametrize(
    "frame", [{"op": "x"}, {"op": "flush"}, {"op": "hello", "v": 1}, {"op": "events", "first": 0, "n": 0}]
)
async def test_a_flood_of_frames_without_events_ends_the_connection(token, frame, monkeypatch):
    monkeypatch.setattr(rate_limit, "monotonic", lambda: 100.0)
    monkeypatch.setattr(rate_limit, "ALLOWANCE", 5)
    async with Client(token) as client:
        for _ in range(7):
            await client.send_frame(frame)

        answers, code = await client.until_closed()
        assert code == 4429
        assert answers <= 6


async def test_frames_with_events_cost_no_allowance(token, monkeypatch):
    monkeypatch.setattr(rate_limit, "ALLOWANCE", 5)
    async with Client(token) as client:
        await client.hello()
        for number in range(20):
            await client.send(number, line({"type": "Note", "n": number}))
            assert (await client.receive())["upto"] == number

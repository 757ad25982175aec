"""The WebSocket endpoint follows the protocol: hello, lines, acknowledgements, refusals and close codes."""

import asyncio
import json

import pytest
from channels.db import database_sync_to_async
from django.conf import settings

from recorder.ingest.commit import writer
from recorder.journal.read import texts
from recorder.models import JournalEvent, LoopRecord, QuarantinedLine
from tests.support.build import agent_end, agent_start, line, turn_start
from tests.support.endpoint_clients import Client

GOOD = [line(agent_start("s.a.1")), line(turn_start("s.a.1")), line(agent_end("s.a.1"))]
BAD = b'{"type":"TurnStart","loop_id":"s.a.1"}'


@database_sync_to_async
def stored():
    return list(texts(JournalEvent.objects.values_list("id", flat=True)).values())


async def test_the_welcome_has_the_high_water_and_the_limits(token):
    async with Client(token) as client:
        welcome = await client.hello("p")

    limits = settings.LOOPSCOPE_LIMITS
    assert (welcome["op"], welcome["v"]) == ("welcome", 1)
    assert (welcome["producer"], welcome["high_water"]) == ("p", -1)
    assert (welcome["credit"], welcome["limits"]) == (limits["credit_bytes"], limits)
    assert welcome["server_time"].endswith("Z")


async def test_lines_are_acknowledged_once_they_are_stored(token):
    async with Client(token) as client:
        await client.hello()
        await client.send(0, *GOOD)

        assert await client.receive() == {"op": "ack", "upto": 2, "rejected": [], "credit": 1024 * 1024}
        assert await stored() == GOOD


async def test_many_frames_may_be_on_their_way_and_keep_their_order(token):
    lines = [line(turn_start("s.a.1", index=n)) for n in range(200)]
    async with Client(token) as client:
        await client.hello()
        for n, each in enumerate(lines):
            await client.send(n, each)
        await client.upto(199)

        assert await stored() == lines


async def test_a_client_that_reconnects_gets_its_high_water(token):
    async with Client(token) as client:
        await client.hello()
        await client.send(0, *GOOD[:2])
        await client.upto(1)
    async with Client(token) as client:
        assert (await client.hello())["high_water"] == 1
        await client.send(0, *GOOD)
        await client.upto(2)

        assert await stored() == GOOD


async def test_a_gap_is_refused_and_says_where_to_go_on(token):
    async with Client(token) as client:
        await client.hello()
        await client.send(4, *GOOD)

        assert await client.receive() == {"op": "nack", "code": "gap", "from": 0}
        await client.send(0, *GOOD)
        await client.upto(2)


async def test_a_bad_line_is_rejected_in_the_acknowledgement(token):
    async with Client(token) as client:
        await client.hello()
        await client.send(0, GOOD[0], BAD, GOOD[2])
        (rejected,) = await client.upto(2)

    assert (rejected["seq"], rejected["code"]) == (1, "missing_field")
    assert await stored() == [GOOD[0], GOOD[2]]


async def test_a_bare_client_needs_no_greeting_and_no_numbers(token):
    async with Client(token) as client:
        await client.send_frame(None, *GOOD[:2])
        welcome = await client.receive()
        await client.upto(1)
        await client.send_frame(None, GOOD[2])
        await client.upto(2)

    assert welcome["op"] == "welcome"
    assert welcome["producer"]
    assert await stored() == GOOD


async def test_a_bare_client_with_a_name_goes_on_after_what_is_stored(token):
    for each in GOOD:
        async with Client(token) as client:
            high = (await client.hello("bare"))["high_water"]
            await client.send_frame(None, each)
            await client.upto(high + 1)

    assert await stored() == GOOD


async def test_what_a_client_sent_before_it_left_is_stored(token):
    async with Client(token) as client:
        for each in GOOD:
            await client.send_frame(None, each)

    assert await stored() == GOOD


async def test_a_broken_line_of_a_bare_client_is_quarantined(token):
    async with Client(token) as client:
        await client.send_frame(None, b'{"type":"InputRejected","loop_id":"s.a.1",}')
        await client.receive()
        (rejected,) = await client.upto(0)
        await client.send_frame(None, b"no JSON at all")
        await client.upto(1)

    assert rejected["code"] == "bad_json"
    assert await database_sync_to_async(QuarantinedLine.objects.count)() == 2


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize(
    ("event", "code"),
    [
        (b'{"type":"Custom","args":{"op":"write"}}', None),
        (b'{"type":"Custom","args":{"op":1,"op":2}}', None),
        (b'{"type":"Custom","args":{"op":1},"n":NaN}', "bad_json"),
        (b'{"type":"Custom","args":{"op":1},', "bad_json"),
    ],
)
async def test_an_event_whose_content_has_an_op_is_no_header(token, event, code, is_first):
    async with Client(token) as client:
        for line in [event] if is_first else [GOOD[0], event]:
            await client.send_frame(None, line)
        assert (await client.receive())["op"] == "welcome"
        rejected = await client.upto(0 if is_first else 1)

    assert [each["code"] for each in rejected] == [code] * (code is not None)


async def test_a_flush_aborts_what_the_producer_left_open(token):
    async with Client(token) as client:
        await client.hello()
        await client.send(0, *GOOD[:2])
        await client.send_frame({"op": "flush"})
        while (await client.receive())["upto"] < 1:
            pass

        loop = await database_sync_to_async(LoopRecord.objects.get)()
        assert loop.status == "aborted"


async def test_a_flush_is_answered_when_nothing_was_sent(token):
    async with Client(token) as client:
        await client.hello()
        await client.send_frame({"op": "flush"})

        assert await client.receive() == {"op": "ack", "upto": -1, "rejected": [], "credit": 1024 * 1024}


@pytest.mark.parametrize(
    "frame",
    [
        "nonsense",
        '{"op":"events","first":0,"n":',
        '{"op":"events","first":-1,"n":0}',
        '{"op":"events","first":"0","n":0}',
        '{"op":"events","first":true,"n":0}',
        '{"op":"events","first":0,"n":2}\n{}',
        '{"op":"events","n":0}',
        '{"op":"events","first":0,"first":3,"n":0}',
        '{"op":"events","first":0,"n":0,"more":NaN}',
        '{"op":7}',
        '{"op":"hello","v":1,"producer":7}',
        '{"op":"hello","v":1,"producer":""}',
        '{"op":"hello","v":1,"producer":"a\\u202eb"}',
        '{"op":"events","first":0,"n":501}' + "\n{}" * 501,
        "[" * 100_000,
        "\n\n",
    ],
)
async def test_an_unreadable_frame_is_answered_and_the_connection_stays(token, frame):
    async with Client(token) as client:
        await client.hello()
        await client.send_frame(frame)

        assert (await client.receive())["code"] == "bad_frame"
        await client.send(0, *GOOD)
        await client.upto(2)


async def test_an_unknown_word_is_answered_and_the_connection_stays(token):
    async with Client(token) as client:
        await client.hello()
        for _ in range(20):
            await client.send_frame({"op": "dance"})
            assert (await client.receive())["code"] == "unknown_op"
        await client.send(0, *GOOD)
        await client.upto(2)


async def test_two_producers_do_not_disturb_each_other(token):
    async with Client(token) as first, Client(token) as second:
        await first.hello("p")
        await second.hello("q")
        await asyncio.gather(first.send(0, *GOOD), second.send(0, *GOOD))

        assert await first.upto(2) == await second.upto(2) == []


async def test_a_connection_stays_one_producer(token):
    async with Client(token) as client:
        await client.hello("p")

        assert (await client.hello("q"))["code"] == "bad_frame"
        assert (await client.hello("p"))["op"] == "welcome"


async def test_a_draining_server_takes_nothing_more(token):
    async with Client(token) as client:
        await client.hello()
        await database_sync_to_async(writer.writer().close)()
        await client.send(0, *GOOD)

        answer = await client.receive()
        assert (answer["op"], answer["code"], answer["from"]) == ("nack", "draining", 0)
        assert answer["retry_after_ms"] > 0
    assert await stored() == []


async def test_a_client_that_is_read_no_further_for_now_loses_nothing(token, monkeypatch):
    # Each frame waits for the one before.
    monkeypatch.setattr("recorder.ingest.websocket.consumers.MARK_BYTES", 0)
    async with Client(token) as client:
        await client.hello()
        for n, each in enumerate(GOOD):
            await client.send(n, each)
        await client.upto(2)

    assert await stored() == GOOD


async def test_the_answers_are_json_of_one_line(token):
    async with Client(token) as client:
        await client.hello()
        await client.send_frame('{"op":"<script>"}')

        assert json.dumps(await client.receive()).isascii()

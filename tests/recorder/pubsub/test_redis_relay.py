"""Invalidations between nodes: all arrive, and a gap in the numbers, or silence, is reported as a loss."""

import asyncio
from contextlib import suppress

import pytest
from channels.layers import get_channel_layer
from channels_redis.pubsub import RedisPubSubChannelLayer

from recorder.pubsub import invalidation
from recorder.pubsub.invalidation import Invalidation, subscribe, unsubscribe
from recorder.pubsub.redis_relay import GROUP, SILENCE_S, GapDetector, RedisRelay
from tests.support.wait import LONGEST_S

AGAIN_S = 0.1  # between two messages of which one is to arrive
SAMPLE = Invalidation(1, sessions={1}, loops={2: 1}, turns={3: 2}, events={4: 2, 5: 0}, quarantined=True)


def test_numbers_without_a_hole_mean_that_nothing_was_missed():
    gaps = GapDetector("me")
    assert not any(gaps.has_missed("other", number, 0.0) for number in range(1, 10))


def test_a_hole_in_the_numbers_of_a_node_means_that_something_was_missed_once():
    gaps = GapDetector("me")
    heard = [gaps.has_missed("other", number, 0.0) for number in (1, 2, 5, 6)]
    assert heard == [False, False, True, False]


def test_a_node_first_heard_in_the_middle_may_have_sent_messages_before():
    assert GapDetector("me").has_missed("other", 7, 0.0)


def test_each_node_has_numbers_of_its_own():
    gaps = GapDetector("me")
    heard = [gaps.has_missed(node, number, 0.0) for node, number in [("a", 1), ("b", 1), ("a", 2), ("b", 2)]]
    assert not any(heard)


def test_what_a_node_says_itself_is_never_missed():
    assert not GapDetector("me").has_missed("me", 12, 0.0)


def test_a_node_that_falls_silent_may_have_committed_what_it_did_not_say():
    gaps = GapDetector("me")
    gaps.has_missed("other", 1, 0.0)
    gaps.has_missed("me", 1, SILENCE_S)

    assert not gaps.has_lost_one(SILENCE_S)
    assert gaps.has_lost_one(SILENCE_S + 0.1)
    assert not gaps.has_lost_one(SILENCE_S + 0.2)


def test_an_invalidation_passes_redis_unchanged():
    layer = RedisPubSubChannelLayer()

    assert Invalidation.of(layer.deserialize(layer.serialize(SAMPLE.message()))) == SAMPLE


async def test_invalidations_of_a_node_are_sent_to_all(relay):
    layer = get_channel_layer()
    channel = await layer.new_channel("channel")
    await layer.group_add(GROUP, channel)

    relay.carry(SAMPLE)
    while not (envelope := await asyncio.wait_for(layer.receive(channel), LONGEST_S))["content"]:
        pass

    assert Invalidation.of(envelope["content"]) == SAMPLE


async def test_invalidations_of_another_node_are_published_here(relay, heard):
    assert await received(heard) == SAMPLE


async def test_messages_that_cannot_be_sent_or_decoded_do_not_end_the_relay(relay, heard, caplog):
    await received(heard)

    relay.carry("no invalidation")
    await logged(caplog, "cannot be sent")
    await get_channel_layer().group_send(GROUP, {"type": "invalidation", "of": "another release"})
    await logged(caplog, "cannot be decoded")
    await logged(caplog, "answers again")

    assert await received(heard) == SAMPLE


@pytest.fixture
async def relay():
    relay = RedisRelay()
    yield relay
    for task in relay._tasks:
        task.cancel()
    await asyncio.gather(*relay._tasks, return_exceptions=True)
    invalidation._relays.remove(relay.carry)
    await get_channel_layer().flush()


@pytest.fixture
def heard():
    invalidations = asyncio.Queue()
    subscribe(invalidations.put_nowait)
    yield invalidations
    unsubscribe(invalidations.put_nowait)


async def received(heard):
    """Publish an invalidation as another node would until it arrives here; return what arrived."""
    for number in range(1, 100):
        message = {"type": "invalidation", "node": "other", "number": number, "content": SAMPLE.message()}
        await get_channel_layer().group_send(GROUP, message)
        with suppress(TimeoutError):
            return await asyncio.wait_for(heard.get(), AGAIN_S)
    return None


async def logged(caplog, words):
    async with asyncio.timeout(LONGEST_S):
        while words not in caplog.text:  # noqa: ASYNC110  a log sets no event
            await asyncio.sleep(0.01)

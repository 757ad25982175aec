"""One connection for each producer: the newest claim wins, and batches of older connections are refused."""

import pytest
from channels.db import database_sync_to_async

from recorder.ingest.commit.pipeline import Batch, Superseded, ingest
from recorder.models import JournalEvent
from tests.support.build import agent_end, agent_start, line, turn_start
from tests.support.endpoint_clients import Client

LINES = [line(agent_start("s.a.1")), line(turn_start("s.a.1")), line(agent_end("s.a.1"))]


def claim(project, producer="p"):
    """Connect elsewhere, as far as the database is concerned."""
    return ingest(Batch(project.pk, producer, None, [], claim=True))


def test_a_claim_says_how_far_the_producer_came_and_stores_nothing(project):
    assert claim(project).upto == -1
    ingest(Batch(project.pk, "p", 0, LINES))

    assert claim(project).upto == 2
    assert JournalEvent.objects.count() == len(LINES)


def test_what_an_older_connection_brings_is_refused_whole(project):
    old, new = claim(project), claim(project)
    with pytest.raises(Superseded):
        ingest(Batch(project.pk, "p", 0, LINES, epoch=old.epoch))
    assert not JournalEvent.objects.exists()

    assert ingest(Batch(project.pk, "p", 0, LINES, epoch=new.epoch)).accepted == len(LINES)


def test_a_request_that_is_no_connection_is_not_fenced(project):
    claim(project)
    assert ingest(Batch(project.pk, "p", 0, LINES)).accepted == len(LINES)


def test_claims_of_one_producer_leave_others_alone(project):
    mine = claim(project, "mine")
    claim(project, "other")
    assert ingest(Batch(project.pk, "mine", 0, LINES, epoch=mine.epoch)).accepted == len(LINES)


async def test_a_connection_is_closed_when_its_producer_is_claimed_elsewhere(project, token):
    async with Client(token) as client:
        await client.hello("p")
        await database_sync_to_async(claim)(project)
        assert await client.code() == 4409


async def test_a_batch_of_a_connection_that_missed_the_invalidation_is_refused_by_the_database(
    project, token, monkeypatch
):
    async with Client(token) as client:
        await client.hello("p")
        monkeypatch.setattr(
            "recorder.pubsub.invalidation._subscribers", []
        )  # the invalidation of another node, lost with Redis
        await database_sync_to_async(claim)(project)
        await client.send(0, *LINES)
        assert await client.code() == 4409
    assert not await database_sync_to_async(JournalEvent.objects.exists)()


async def test_a_quiet_connection_learns_from_the_database_that_it_was_superseded(
    project, token, monkeypatch
):
    monkeypatch.setattr("recorder.ingest.websocket.consumers.RECHECK_S", 0.05)
    async with Client(token) as client:
        await client.hello("p")
        monkeypatch.setattr("recorder.pubsub.invalidation._subscribers", [])
        await database_sync_to_async(claim)(project)
        assert await client.code() == 4409


async def test_the_epoch_also_fences_a_producer_named_by_the_server(project, token):
    async with Client(token) as client:
        await client.send_frame(None, LINES[0])
        name = (await client.receive())["producer"]
        await client.upto(0)
        await database_sync_to_async(claim)(project, name)
        await client.send_frame(None, LINES[1])
        assert await client.code() == 4409

"""The writer: batches of many connections, one thread, groups, and an answer for each batch."""

import asyncio
import threading

import pytest
from channels.db import database_sync_to_async
from django.db import connection

from recorder.database.errors import Busy
from recorder.ingest.commit import writer as writing
from recorder.ingest.commit.writer import Writer
from recorder.ingest.metrics import COMMITS
from recorder.journal.batch import Batch, Gap
from recorder.models import JournalEvent
from tests.support.build import agent_start, line, turn_start
from tests.support.wait import LONGEST_S

LINES = [line(agent_start("s.a.1")), *(line(turn_start("s.a.1", index=n)) for n in range(9))]


@pytest.fixture
def writer(project):
    writer = Writer()
    yield writer
    writer.close()


def batch(project, first, lines, producer="p"):
    return Batch(project.pk, producer, first, lines)


count = database_sync_to_async(JournalEvent.objects.count)


async def test_batches_sent_at_once_are_stored_in_the_order_they_were_sent(project, writer):
    receipts = await asyncio.gather(
        *(writer.submit(batch(project, n, [each])) for n, each in enumerate(LINES))
    )

    assert [receipt.upto for receipt in receipts] == list(range(len(LINES)))


async def test_those_who_were_answered_together_share_a_commit_again(project, writer, monkeypatch):
    monkeypatch.setattr(writing, "SOON_S", 30)
    writer.together = 2
    commits = COMMITS.lines()[-1]
    first = asyncio.ensure_future(writer.submit(batch(project, 0, LINES, "p")))
    await asyncio.sleep(0.05)
    assert not first.done()

    await writer.submit(batch(project, 0, LINES, "q"))

    assert (await first).accepted == len(LINES)
    assert COMMITS.lines()[-1] == _one_more(commits)


async def test_who_was_answered_alone_waits_for_nobody(project, writer, monkeypatch):
    monkeypatch.setattr(writing, "SOON_S", 30)
    await writer.submit(batch(project, 0, LINES[:1]))

    await asyncio.wait_for(writer.submit(batch(project, 1, LINES[1:])), LONGEST_S)


def _one_more(line):
    name, _, number = line.rpartition(" ")
    return f"{name} {int(number) + 1}"


async def test_a_gap_is_reported_to_the_producer_that_made_it(project, writer):
    good, gap = await asyncio.gather(
        writer.submit(batch(project, 0, LINES)),
        writer.submit(batch(project, 5, LINES, "q")),
        return_exceptions=True,
    )

    assert good.accepted == len(LINES)
    assert isinstance(gap, Gap)


async def test_what_fails_for_a_reason_of_our_own_fails_alone(project, writer):
    good, bad = await asyncio.gather(
        writer.submit(batch(project, 0, LINES)),
        writer.submit(Batch(project.pk + 1_000, "p", 0, LINES)),
        return_exceptions=True,
    )

    assert good.accepted == len(LINES)
    assert isinstance(bad, Exception)
    assert await count() == len(LINES)


async def test_more_than_the_budget_is_refused_until_there_is_room(project, writer, monkeypatch):
    monkeypatch.setattr(writing, "BUDGET_BYTES", 500)
    receipts = await asyncio.gather(
        *(writer.submit(batch(project, 0, LINES[:1], f"p{n}")) for n in range(50)), return_exceptions=True
    )

    assert any(isinstance(receipt, Busy) for receipt in receipts)
    assert (await writer.submit(batch(project, 0, LINES, "late"))).accepted == len(LINES)


@pytest.mark.sqlite  # it alone has one lock for all
async def test_a_locked_database_is_busy_and_then_it_is_not(project, writer):
    locked, free = threading.Event(), threading.Event()
    holder = threading.Thread(target=hold_lock, args=(locked, free))
    holder.start()
    await asyncio.to_thread(locked.wait)
    try:
        with pytest.raises(Busy) as refused:
            await writer.submit(batch(project, 0, LINES))
        assert writer.oldest_s() == 0
    finally:
        free.set()
        await asyncio.to_thread(holder.join)

    assert refused.value.code == "busy"
    assert (await writer.submit(batch(project, 0, LINES))).accepted == len(LINES)


async def test_accepted_batches_are_written_before_the_end(project, writer):
    submitted = [
        asyncio.ensure_future(writer.submit(batch(project, n, [each]))) for n, each in enumerate(LINES)
    ]
    await asyncio.sleep(0)

    await asyncio.to_thread(writer.close)

    assert [receipt.upto for receipt in await asyncio.gather(*submitted)] == list(range(len(LINES)))
    with pytest.raises(Busy) as refused:
        await writer.submit(batch(project, len(LINES), LINES))
    assert refused.value.code == "draining"


async def test_a_trial_commit_changes_nothing(project, writer):
    assert await writer.try_commit() is None
    assert await count() == 0


def hold_lock(locked, free):
    """Hold the write lock from another thread until told to let go."""
    with connection.cursor() as cursor:
        cursor.execute("BEGIN IMMEDIATE")
        locked.set()
        free.wait(LONGEST_S)
        cursor.execute("ROLLBACK")
    connection.close()


async def test_a_bug_that_ends_the_writing_thread_ends_the_process(project, writer, monkeypatch):
    ended = []
    writer.when_broken = ended.append
    monkeypatch.setattr(writing.Attempts, "write", None)
    for _ in range(2):  # a waiting batch, and a later one
        with pytest.raises(Busy):
            await writer.submit(batch(project, 0, LINES))
    await asyncio.to_thread(writer.close)
    assert ["the writer thread has ended" in why for why in ended] == [True]

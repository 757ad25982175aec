"""The lifecycle stream through the real application, fed by the real ingest."""

import asyncio

import pytest
from channels.db import database_sync_to_async
from django.db import connection

from dashboard.lifecycle import broadcast as lifecycle_feed
from dashboard.lifecycle.broadcast import feed
from dashboard.lifecycle.events import LifecycleReducer
from dashboard.lifecycle.sse_endpoint import lifecycle
from recorder.models import LoopRecord, Session
from recorder.pubsub import invalidation
from tests.dashboard.lifecycle.sse_client import play, subscribed, summaries, summary
from tests.support import build
from tests.support.foreign_tapes import tape
from tests.support.wait import LONGEST_S

pytestmark = pytest.mark.django_db(transaction=True)


async def test_a_root_loop_has_one_start_and_one_end(project, token):
    async with subscribed(token) as subscription:
        await play(project, build.agent_start("s.a.1"), build.turn_start("s.a.1"))
        (event,) = await subscription.events(1)
        assert event["type"] == "turn-started"
        assert event["at"] == 1_770_800_400_000
        await play(project, build.turn_end("s.a.1"), build.agent_end("s.a.1"))
        assert await summaries(subscription, 1) == ["turn-finished s finish"]


async def test_a_loop_in_one_commit_has_a_start_and_an_end(project, token):
    async with subscribed(token) as subscription:
        await play(project, *build.small_loop("s.a.1"))
        assert await summaries(subscription, 2) == ["turn-started s", "turn-finished s finish"]


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        ({"outcome": "failed"}, "error"),
        ({"outcome": "cancelled"}, "abort"),
        ({"rejection": "no"}, "error"),
        ({"outcome": "limit"}, "finish"),
    ],
)
async def test_the_reason_follows_the_outcome(project, token, end, reason):
    async with subscribed(token) as subscription:
        await play(project, build.agent_start("s.a.1"), {**build.agent_end("s.a.1"), **end})
        assert await summaries(subscription, 2) == ["turn-started s", f"turn-finished s {reason}"]


async def test_an_approval_request_precedes_the_end_of_the_turn_it_blocks(project, token):
    request = build.ours("ApprovalRequested", "s.a.1", kind="command", command="rm")
    async with subscribed(token) as subscription:
        await play(project, build.agent_start("s.a.1"), request, build.agent_end("s.a.1"))
        events = await summaries(subscription, 3)
    assert events == ["turn-started s", "approval-requested s", "turn-finished s finish pending"]


async def test_an_event_has_the_url_of_its_loop(project, token):
    async with subscribed(token) as subscription:
        await play(project, build.agent_start("s.a.1"))
        (started,) = await subscription.events(1)
    loop = await database_sync_to_async(LoopRecord.objects.get)()
    assert started["url"] == f"/p/default/sessions/{loop.session_id}/loops/{loop.pk}"
    async with subscribed(token) as subscription:
        await play(project, flush=True)
        (cut,) = await subscription.events(1)
    assert cut["url"] == started["url"]


async def test_the_url_of_a_group_is_its_session(project, token):
    async with subscribed(token) as subscription:
        await play(project, *tape("phi-core/03-parallel-judge.events.jsonl")[:40])
        events = await subscription.events(1)
    session = await database_sync_to_async(Session.objects.get)()
    assert f"/p/default/sessions/{session.pk}" in [event["url"] for event in events]


async def test_a_loop_that_was_cut_off_ends_with_the_reason_abort(project, token):
    async with subscribed(token) as subscription:
        await play(project, build.agent_start("s.a.1"))
        await subscription.events(1)
        await play(project, flush=True)
        assert await summaries(subscription, 1) == ["turn-finished s abort"]


async def test_a_parallel_group_has_events_and_its_branches_and_judge_have_none(project, token):
    async with subscribed(token) as subscription:
        await play(project, *tape("phi-core/03-parallel-judge.events.jsonl"))
        events = await summaries(subscription, 4)
    assert [each.split()[0] for each in events] == ["turn-started", "turn-finished"] * 2


async def test_sub_agents_have_no_events(project, token):
    async with subscribed(token) as subscription:
        await play(project, *tape("cagent/transfer-task.reconstructed.events.jsonl"), form="cagent")
        events = await summaries(subscription, 2)
        await subscription.silence()
    parent = "15874f47-5e7b-4e60-84fb-7905fc4cddce"
    assert events == [f"turn-started {parent}", f"turn-finished {parent} finish"]


async def test_each_runtime_gives_a_start_and_exactly_one_end(project, token):
    rows = "aidaemon"
    async with subscribed(token) as subscription:
        start = {"session_id": "day", "created_at": "2026-03-20T08:00:00Z"}
        task = {"id": 1, **start, "event_type": "task_start", "data": {"task_id": "t"}}
        request = {
            "id": 2,
            **start,
            "event_type": "approval_requested",
            "data": {"command": "ls", "task_id": "t"},
        }
        end = {"id": 3, **start, "event_type": "task_end", "data": {"task_id": "t", "status": "failed"}}
        await play(project, task, request, end, form=rows, producer=rows)
        assert await summaries(subscription, 3) == [
            "turn-started day",
            "approval-requested day",
            "turn-finished day error",
        ]
        await play(project, *tape("grida/lifecycle.hand-made.sse"), form="grida", producer="grida")
        events = await summaries(subscription, 9)
    assert events == [
        "turn-started ses_a",
        "turn-started ses_b",
        "turn-finished ses_a finish",
        "approval-requested ses_b",
        "turn-finished ses_b finish pending",
        "turn-started ses_b",
        "turn-finished ses_b error",
        "turn-started ses_a",
        "turn-finished ses_a abort",
    ]


async def test_a_turn_that_began_before_the_subscription_has_its_end(project, token):
    await play(project, build.agent_start("s.a.1"))
    async with subscribed(token) as subscription:
        await play(project, build.agent_end("s.a.1"), build.agent_end("s.a.1"))
        assert await summaries(subscription, 1) == ["turn-finished s finish"]
        await subscription.silence()


async def test_an_imported_past_session_has_no_events(project, token):
    async with subscribed(token) as subscription:
        await play(project, *build.small_loop("s.a.1"), producer="import:x")
        await subscription.silence()


@database_sync_to_async
def rename(table, name):
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {table} RENAME TO {name}")


async def test_commits_are_reported_when_the_database_is_available_again(project, token, monkeypatch):
    monkeypatch.setattr(lifecycle_feed, "RETRY_S", 0.05)
    invalidations = []

    async with subscribed(token) as subscription:
        invalidation.unsubscribe(feed._queue_invalidation)
        invalidation.subscribe(invalidations.append)
        try:
            await play(project, *build.small_loop("s.a.1"))
        finally:
            invalidation.unsubscribe(invalidations.append)
            invalidation.subscribe(feed._queue_invalidation)
        await rename("recorder_looprecord", "elsewhere")
        try:
            for touched in invalidations:
                invalidation.publish(touched)
            await subscription.silence()
        finally:
            await rename("elsewhere", "recorder_looprecord")
        assert await summaries(subscription, 2) == ["turn-started s", "turn-finished s finish"]
        await play(project, build.agent_start("s.a.2"))
        assert await summaries(subscription, 1) == ["turn-started s"]


async def test_commits_in_quick_succession_are_sent_together(project, token, monkeypatch):
    monkeypatch.setattr(lifecycle_feed, "GATHER_S", 2.0)
    async with subscribed(token) as subscription:
        await play(project, build.agent_start("s.a.1"))
        await subscription.events(1)
        for n in range(2, 5):
            await play(project, build.agent_start(f"s.a.{n}"))
        together = await subscription._communicator.receive_output(LONGEST_S)
    assert together["body"].count(b"turn-started") == 3


async def test_ten_commits_take_as_many_queries_as_one(project, django_assert_num_queries):
    invalidations = []
    invalidation.subscribe(invalidations.append)
    try:
        for n in range(10):
            await play(project, *build.small_loop(f"s.a.{n}"))
    finally:
        invalidation.unsubscribe(invalidations.append)

    @database_sync_to_async
    def reduce():
        reducer = LifecycleReducer()
        with django_assert_num_queries(1):
            return reducer.feed(invalidations)

    assert [summary(event.frame) for event in await reduce()] == [
        "turn-started s",
        "turn-finished s finish",
    ] * 10


async def test_a_commit_within_a_turn_is_not_queued(project, token):
    await play(project, build.agent_start("s.a.1"))
    async with subscribed(token):
        await play(project, build.turn_start("s.a.1"), build.turn_end("s.a.1"))
        assert not feed._invalidations
        assert not feed._is_queued.is_set()


async def test_a_session_cut_off_and_restarted_in_one_batch_keeps_its_order(project, token, monkeypatch):
    monkeypatch.setattr(lifecycle_feed, "GATHER_S", 2.0)
    async with subscribed(token) as subscription:
        await play(project, build.agent_start("other.a.1"), producer="q")
        await subscription.events(1)
        await play(project, build.agent_start("s.a.1"))
        await play(project, flush=True)
        await play(project, build.agent_start("s.a.2"))
        events = await summaries(subscription, 3)
    assert events == ["turn-started s", "turn-finished s abort", "turn-started s"]


async def test_a_stream_that_fails_raises_so_that_the_server_breaks_it_off(project, token):
    parts, listening = [], asyncio.Event()

    async def send(message):
        if message["type"] == "http.response.body":
            parts.append(message)
            listening.set()

    async def fails(events):
        raise RuntimeError

    headers = [(b"authorization", f"Bearer {token}".encode())]
    scope = {"method": "GET", "query_string": b"", "headers": headers, "client": ("127.0.0.1", 50_000)}
    stream = asyncio.create_task(lifecycle(scope, asyncio.Event().wait, send, fails))
    await asyncio.wait(
        {stream, listened := asyncio.create_task(listening.wait())}, return_when="FIRST_COMPLETED"
    )
    assert listened.done()
    await play(project, build.agent_start("s.a.1"))

    with pytest.raises(RuntimeError):
        await stream
    assert all(part["more_body"] for part in parts)

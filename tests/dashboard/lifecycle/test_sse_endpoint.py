"""The channel as its subscribers see it: through the real application, fed by real ingest."""

import pytest
from channels.db import database_sync_to_async
from django.db import connection

from dashboard.lifecycle import broadcast as lifecycle_feed
from dashboard.lifecycle.broadcast import feed
from dashboard.lifecycle.events import Rings
from recorder.models import LoopRecord, Session
from recorder.pubsub import invalidation
from tests.dashboard.lifecycle.sse_client import heard, listening, play, said
from tests.support import build
from tests.support.foreign_tapes import tape

pytestmark = pytest.mark.django_db(transaction=True)

PHI = "phi-core"


async def test_a_root_loop_rings_once_at_its_start_and_once_at_its_end(project, token):
    async with listening(token) as listener:
        await play(project, build.agent_start("s.a.1"), build.turn_start("s.a.1"))
        (ring,) = await listener.rings(1)
        assert ring["type"] == "turn-started"
        assert ring["at"] == 1_770_800_400_000
        await play(project, build.turn_end("s.a.1"), build.agent_end("s.a.1"))
        assert await heard(listener, 1) == ["turn-finished s finish"]


async def test_a_loop_that_comes_whole_rings_twice(project, token):
    async with listening(token) as listener:
        await play(project, *build.small_loop("s.a.1"))
        assert await heard(listener, 2) == ["turn-started s", "turn-finished s finish"]


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        ({"outcome": "failed"}, "error"),
        ({"outcome": "cancelled"}, "abort"),
        ({"rejection": "no"}, "error"),
        ({"outcome": "limit"}, "finish"),
    ],
)
async def test_the_reason_is_honest(project, token, end, reason):
    async with listening(token) as listener:
        await play(project, build.agent_start("s.a.1"), {**build.agent_end("s.a.1"), **end})
        assert await heard(listener, 2) == ["turn-started s", f"turn-finished s {reason}"]


async def test_an_approval_rings_before_the_end_of_the_turn_that_it_blocks(project, token):
    asks = build.ours("ApprovalRequested", "s.a.1", kind="command", command="rm")
    async with listening(token) as listener:
        await play(project, build.agent_start("s.a.1"), asks, build.agent_end("s.a.1"))
        rings = await heard(listener, 3)
    assert rings == ["turn-started s", "approval-requested s", "turn-finished s finish pending"]


async def test_a_ring_says_where_to_see_its_loop(project, token):
    async with listening(token) as listener:
        await play(project, build.agent_start("s.a.1"))
        (started,) = await listener.rings(1)
    loop = await database_sync_to_async(LoopRecord.objects.get)()
    assert started["url"] == f"/p/default/sessions/{loop.session_id}/loops/{loop.pk}"
    async with listening(token) as listener:
        await play(project, flush=True)
        (cut,) = await listener.rings(1)
    assert cut["url"] == started["url"]


async def test_a_group_leads_to_its_session(project, token):
    async with listening(token) as listener:
        await play(project, *tape("phi-core/03-parallel-judge.events.jsonl")[:40])
        rings = await listener.rings(1)
    session = await database_sync_to_async(Session.objects.get)()
    assert f"/p/default/sessions/{session.pk}" in [ring["url"] for ring in rings]


async def test_what_is_cut_off_ends_as_aborted(project, token):
    async with listening(token) as listener:
        await play(project, build.agent_start("s.a.1"))
        await listener.rings(1)
        await play(project, flush=True)
        assert await heard(listener, 1) == ["turn-finished s abort"]


async def test_a_parallel_group_rings_once_and_its_branches_and_judge_do_not(project, token):
    async with listening(token) as listener:
        await play(project, *tape("phi-core/03-parallel-judge.events.jsonl"))
        rings = await heard(listener, 4)
    assert [each.split()[0] for each in rings] == ["turn-started", "turn-finished"] * 2


async def test_sub_agents_do_not_ring(project, token):
    async with listening(token) as listener:
        await play(project, *tape("cagent/transfer-task.reconstructed.events.jsonl"), form="cagent")
        rings = await heard(listener, 2)
        await listener.silence()
    parent = "15874f47-5e7b-4e60-84fb-7905fc4cddce"
    assert rings == [f"turn-started {parent}", f"turn-finished {parent} finish"]


async def test_each_runtime_rings_a_start_and_exactly_one_end(project, token):
    rows = "aidaemon"
    async with listening(token) as listener:
        start = {"session_id": "day", "created_at": "2026-03-20T08:00:00Z"}
        task = {"id": 1, **start, "event_type": "task_start", "data": {"task_id": "t"}}
        asks = {
            "id": 2,
            **start,
            "event_type": "approval_requested",
            "data": {"command": "ls", "task_id": "t"},
        }
        end = {"id": 3, **start, "event_type": "task_end", "data": {"task_id": "t", "status": "failed"}}
        await play(project, task, asks, end, form=rows, producer=rows)
        assert await heard(listener, 3) == [
            "turn-started day",
            "approval-requested day",
            "turn-finished day error",
        ]
        await play(project, *tape("grida/lifecycle.hand-made.sse"), form="grida", producer="grida")
        rings = await heard(listener, 9)
    assert rings == [
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


async def test_a_turn_that_began_before_somebody_listened_still_ends(project, token):
    await play(project, build.agent_start("s.a.1"))
    async with listening(token) as listener:
        await play(project, build.agent_end("s.a.1"), build.agent_end("s.a.1"))
        assert await heard(listener, 1) == ["turn-finished s finish"]
        await listener.silence()


async def test_what_an_import_brings_in_of_the_past_is_silent(project, token):
    async with listening(token) as listener:
        await play(project, *build.small_loop("s.a.1"), producer="import:x")
        await listener.silence()


@database_sync_to_async
def rename(table, name):
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {table} RENAME TO {name}")


async def test_what_a_commit_held_while_the_store_was_away_rings_when_it_is_back(project, token, monkeypatch):
    monkeypatch.setattr(lifecycle_feed, "AGAIN_S", 0.05)
    invalidations = []

    async with listening(token) as listener:
        invalidation.unsubscribe(feed._hear)
        invalidation.subscribe(invalidations.append)
        try:
            await play(project, *build.small_loop("s.a.1"))
        finally:
            invalidation.unsubscribe(invalidations.append)
            invalidation.subscribe(feed._hear)
        await rename("recorder_looprecord", "elsewhere")
        try:
            for touched in invalidations:
                invalidation.publish(touched)
            await listener.silence()
        finally:
            await rename("elsewhere", "recorder_looprecord")
        assert await heard(listener, 2) == ["turn-started s", "turn-finished s finish"]
        await play(project, build.agent_start("s.a.2"))
        assert await heard(listener, 1) == ["turn-started s"]


async def test_what_commits_ring_soon_after_each_other_is_told_at_once(project, token, monkeypatch):
    monkeypatch.setattr(lifecycle_feed, "GATHER_S", 2.0)
    async with listening(token) as listener:
        await play(project, build.agent_start("s.a.1"))
        await listener.rings(1)
        for n in range(2, 5):
            await play(project, build.agent_start(f"s.a.{n}"))
        together = await listener._communicator.receive_output(5)
    assert together["body"].count(b"turn-started") == 3


async def test_ten_commits_are_looked_up_like_one(project, django_assert_num_queries):
    invalidations = []
    invalidation.subscribe(invalidations.append)
    try:
        for n in range(10):
            await play(project, *build.small_loop(f"s.a.{n}"))
    finally:
        invalidation.unsubscribe(invalidations.append)

    @database_sync_to_async
    def rung():
        rings = Rings()
        with django_assert_num_queries(1):
            return rings.of(invalidations)

    assert [said(ring.frame) for ring in await rung()] == ["turn-started s", "turn-finished s finish"] * 10


async def test_a_commit_within_a_turn_wakes_nobody(project, token):
    await play(project, build.agent_start("s.a.1"))
    async with listening(token):
        await play(project, build.turn_start("s.a.1"), build.turn_end("s.a.1"))
        assert not feed._invalidations
        assert not feed._heard.is_set()


async def test_a_session_cut_off_and_begun_again_between_two_looks_keeps_its_order(
    project, token, monkeypatch
):
    monkeypatch.setattr(lifecycle_feed, "GATHER_S", 2.0)
    async with listening(token) as listener:
        await play(project, build.agent_start("other.a.1"), producer="q")
        await listener.rings(1)
        await play(project, build.agent_start("s.a.1"))
        await play(project, flush=True)
        await play(project, build.agent_start("s.a.2"))
        rings = await heard(listener, 3)
    assert rings == ["turn-started s", "turn-finished s abort", "turn-started s"]

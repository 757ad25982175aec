"""Who hears the channel: readers of a project alone, each at their own pace."""

import asyncio
from threading import Event

import pytest
from channels.db import database_sync_to_async
from django.conf import settings
from django.contrib.auth.models import User

from dashboard.lifecycle import broadcast as lifecycle_feed
from dashboard.lifecycle import sse_endpoint
from dashboard.lifecycle.broadcast import KEPT, Subscriber, feed
from dashboard.lifecycle.events import Ring, Rings
from recorder.access import tokens
from recorder.models import Project
from tests.dashboard.lifecycle.sse_client import heard, listening, play
from tests.support import build

pytestmark = pytest.mark.django_db(transaction=True)


async def test_nobody_hears_another_project(project, token):
    other = await database_sync_to_async(Project.objects.create)(slug="other")
    async with listening(token) as listener:
        await play(other, *build.small_loop("s.a.1"))
        await listener.silence()


async def test_somebody_signed_in_hears_all_their_projects(project, client):
    user = await database_sync_to_async(User.objects.create_superuser)("me", password="x")
    await database_sync_to_async(client.force_login)(user)
    name = settings.SESSION_COOKIE_NAME
    cookie = f"{name}={client.cookies[name].value}"
    other = await database_sync_to_async(Project.objects.create)(slug="other")
    async with listening(cookie=cookie) as listener:
        await play(other, build.agent_start("s.a.1"))
        assert await heard(listener, 1) == ["turn-started s"]
    async with listening(cookie=cookie, query="project=default") as listener:
        await play(other, build.agent_end("s.a.1"))
        await listener.silence()


async def test_who_may_not_read_hears_nothing(project):
    async with listening() as status:
        assert status == 401
    async with listening("lsk_wrong_token") as status:
        assert status == 401
    ingest_only = await database_sync_to_async(tokens.issue)(project, "agent", ["ingest"])
    async with listening(ingest_only) as status:
        assert status == 403


async def test_a_token_that_is_revoked_is_heard_out_no_longer(project, token, monkeypatch):
    monkeypatch.setattr(sse_endpoint, "RECHECK_S", 0.0)
    monkeypatch.setattr(lifecycle_feed, "BEAT_S", 0.05)
    async with listening(token) as listener:
        await database_sync_to_async(project.tokens.all().delete)()
        with pytest.raises(AssertionError, match="the channel ended"):
            await listener.rings(1)


async def test_a_subscriber_that_does_not_keep_up_loses_its_own_oldest_frames_only():
    slow, quick = Subscriber(frozenset((1,))), Subscriber(frozenset((1,)))
    taken = []
    for n in range(KEPT + 10):
        for each in (slow, quick):
            each.offer([Ring(1, {"n": n})])
        taken += await quick.take()
    assert [ring.frame["n"] for ring in taken] == list(range(KEPT + 10))
    assert [ring.frame["n"] for ring in await slow.take()] == list(range(10, KEPT + 10))


async def test_fifty_subscribers_of_whom_one_never_reads(project, token):
    scopes = [listening(token) for _ in range(50)]
    listeners = [await each.__aenter__() for each in scopes]
    await play(project, *[event for n in range(20) for event in build.small_loop(f"s{n}.a.1")])
    rings = await asyncio.gather(*(each.rings(40) for each in listeners[1:]))
    assert all(each == rings[0] for each in rings)
    for each in scopes:
        await each.__aexit__(None, None, None)
    assert not feed._subscribers


async def test_who_leaves_before_the_channel_begins_is_forgotten(project, monkeypatch):
    async def theirs(_):
        return frozenset((project.pk,))

    asked, answer = Event(), Event()
    monkeypatch.setattr(sse_endpoint, "_projects", theirs)
    monkeypatch.setattr(Rings, "begin", lambda _: asked.set() or answer.wait())
    coming = asyncio.create_task(sse_endpoint.lifecycle({"method": "GET"}, None, None))
    try:
        await asyncio.to_thread(asked.wait)
        assert feed._subscribers
        coming.cancel()
        await asyncio.gather(coming, return_exceptions=True)
        assert not feed._subscribers
    finally:
        answer.set()


async def test_who_reads_loses_nothing_of_a_burst(project, token):
    number = KEPT  # loops in one commit, twice as many rings as wait for one subscriber
    async with listening(token) as one, listening(token) as other:
        await play(project, *(event for n in range(number) for event in build.small_loop(f"s{n}.a.1")))
        heard = await asyncio.gather(*(each.rings(2 * number, wait=30) for each in (one, other)))
    assert [len(each) for each in heard] == [2 * number] * 2

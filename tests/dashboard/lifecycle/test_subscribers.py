"""Subscribers of the lifecycle stream: access, back-pressure, disconnects."""

import asyncio
from threading import Event

import pytest
from channels.db import database_sync_to_async
from django.conf import settings
from django.contrib.auth.models import User

from dashboard.lifecycle import sse_endpoint
from dashboard.lifecycle.broadcast import BACKLOG_MAX, Subscriber, feed
from dashboard.lifecycle.events import LifecycleEvent, LifecycleReducer
from dashboard.security import recheck
from recorder.access import tokens
from recorder.models import Project
from tests.dashboard.lifecycle.sse_client import play, subscribed, summaries
from tests.support import build

pytestmark = pytest.mark.django_db(transaction=True)


async def test_events_of_another_project_are_not_sent(project, token):
    other = await database_sync_to_async(Project.objects.create)(slug="other")
    async with subscribed(token) as subscription:
        await play(other, *build.small_loop("s.a.1"))
        await subscription.silence()


async def test_a_signed_in_user_receives_all_their_projects(project, client):
    user = await database_sync_to_async(User.objects.create_superuser)("me", password="x")
    await database_sync_to_async(client.force_login)(user)
    name = settings.SESSION_COOKIE_NAME
    cookie = f"{name}={client.cookies[name].value}"
    other = await database_sync_to_async(Project.objects.create)(slug="other")
    async with subscribed(cookie=cookie) as subscription:
        await play(other, build.agent_start("s.a.1"))
        assert await summaries(subscription, 1) == ["turn-started s"]
    async with subscribed(cookie=cookie, query="project=default") as subscription:
        await play(other, build.agent_end("s.a.1"))
        await subscription.silence()


async def test_clients_without_scope_read_are_refused(project):
    async with subscribed() as status:
        assert status == 401
    async with subscribed("lsk_wrong_token") as status:
        assert status == 401
    ingest_only = await database_sync_to_async(tokens.issue)(project, "agent", ["ingest"])
    async with subscribed(ingest_only) as status:
        assert status == 403


async def test_a_revoked_token_ends_the_stream(project, token, monkeypatch):
    monkeypatch.setattr(recheck, "RECHECK_S", 0.05)
    async with subscribed(token) as subscription:
        await database_sync_to_async(project.tokens.all().delete)()
        with pytest.raises(AssertionError, match="the stream ended"):
            await subscription.events(1)


async def test_a_slow_subscriber_loses_only_its_own_oldest_events():
    slow, quick = Subscriber(frozenset((1,))), Subscriber(frozenset((1,)))
    received = []
    for n in range(BACKLOG_MAX + 10):
        for each in (slow, quick):
            each.offer([LifecycleEvent(1, {"n": n})])
        received += await quick.take()
    assert [event.frame["n"] for event in received] == list(range(BACKLOG_MAX + 10))
    assert [event.frame["n"] for event in await slow.take()] == list(range(10, BACKLOG_MAX + 10))


async def test_one_subscriber_that_never_reads_does_not_block_fifty_others(project, token):
    scopes = [subscribed(token) for _ in range(50)]
    subscriptions = [await each.__aenter__() for each in scopes]
    await play(project, *[event for n in range(20) for event in build.small_loop(f"s{n}.a.1")])
    events = await asyncio.gather(*(each.events(40) for each in subscriptions[1:]))
    assert all(each == events[0] for each in events)
    for each in scopes:
        await each.__aexit__(None, None, None)
    assert not feed._subscribers


async def test_a_client_that_leaves_while_subscribing_is_removed(project, monkeypatch):
    async def client(_):
        return sse_endpoint.Client(frozenset((project.pk,)), lambda: None)

    is_called, may_return = Event(), Event()
    monkeypatch.setattr(sse_endpoint, "_client", client)
    monkeypatch.setattr(LifecycleReducer, "begin", lambda _: is_called.set() or may_return.wait())
    request = asyncio.create_task(sse_endpoint.lifecycle({"method": "GET"}, None, None))
    try:
        await asyncio.to_thread(is_called.wait)
        assert feed._subscribers
        request.cancel()
        await asyncio.gather(request, return_exceptions=True)
        assert not feed._subscribers
    finally:
        may_return.set()


async def test_a_subscriber_that_reads_at_once_loses_nothing_of_a_burst(project, token):
    number = BACKLOG_MAX  # loops in one commit, with twice as many events as are queued for one subscriber
    async with subscribed(token) as one, subscribed(token) as other:
        await play(project, *(event for n in range(number) for event in build.small_loop(f"s{n}.a.1")))
        received = await asyncio.gather(*(each.events(2 * number) for each in (one, other)))
    assert [len(each) for each in received] == [2 * number] * 2

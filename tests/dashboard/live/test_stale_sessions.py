"""Open pages show when a session becomes stale, and when it is live again, as a reload would."""

from datetime import timedelta

import pytest
from django.utils import timezone

from dashboard.live.queries import stale_sessions
from dashboard.live.queries.stale_sessions import became_stale, check_interval_s
from recorder.models import LoopRecord, ParallelGroupRecord, Session
from tests.dashboard.open_page import in_thread
from tests.support import build
from tests.support.small_loop import Loop, now

HOUR = timedelta(hours=1)


@pytest.fixture
def clock(monkeypatch, settings):
    """Return a clock that can be moved; limits are as by default, checks frequent."""
    settings.LOOPSCOPE_STALE_S, settings.LOOPSCOPE_STALE_WAITING_S = 1_800, 86_400
    monkeypatch.setattr(stale_sessions, "CHECK_S", 0.05)
    monkeypatch.setattr(stale_sessions, "CHECK_MIN_S", 0.05)
    read = timezone.now

    class Clock:
        ahead = timedelta()

    monkeypatch.setattr(timezone, "now", lambda: read() + Clock.ahead)
    return Clock


async def shows(page, words, *, until=True):
    """Receive frames until the page has these words, or no longer has them."""
    while (words in page.shown.root.html()) != until:
        await page.receive()


@pytest.fixture
def running(place):
    loop = Loop("long")
    place.feed(loop.start(title="Sort the shed"), loop.turn(), loop.tool("t1", command="make"))
    return loop


@pytest.mark.parametrize("tab", ["", "?tab=timeline", "?tab=events"])
async def test_a_session_page_becomes_stale_and_live_again(place, running, open_page, clock, tab):
    await in_thread(
        place.feed, Loop("long", "second").start()
    )  # its row changes too, though the next event is of the first
    first = await in_thread(lambda: LoopRecord.objects.earliest("pk"))
    page = await open_page(f"/p/{place.project.slug}/sessions/{first.session_id}/loops/{first.pk}{tab}")
    assert "Stale" not in page.shown.root.html()

    clock.ahead = HOUR
    await shows(page, "no events for")
    await page.agree()
    assert 'class="nav-empty"' in page.shown.root.html()
    assert "status-running" not in page.shown.root.html()

    clock.ahead = timedelta()
    await in_thread(place.feed, running.progress("t1", "38 of 212"))
    await shows(page, "no events for", until=False)
    await page.agree()
    assert "Stale" not in page.shown.root.html()


async def test_a_page_opened_on_a_stale_session_is_live_again_with_its_next_event(
    place, running, open_page, clock
):
    await in_thread(place.feed, Loop("long", "second").start())
    first = await in_thread(lambda: LoopRecord.objects.earliest("pk"))
    clock.ahead = HOUR
    page = await open_page(f"/p/{place.project.slug}/sessions/{first.session_id}/loops/{first.pk}")
    assert "no events for" in page.shown.root.html()

    clock.ahead = timedelta()
    await in_thread(place.feed, running.progress("t1", "38 of 212"))
    await page.agree()
    assert "Stale" not in page.shown.root.html()


async def test_the_list_and_attention_become_stale_and_live_again(place, open_page, clock):
    loop = Loop("asks")
    await in_thread(
        place.feed,
        loop.start(title="Asks"),
        loop.turn(),
        loop.tool("t1", command="rm"),
        loop.approval("t1", "rm"),
    )
    pages = [await open_page(path) for path in (place.sessions(), f"/p/{place.project.slug}/attention")]

    clock.ahead = 2 * HOUR
    for page in pages:
        await page.agree()
        assert "no events for" not in page.shown.root.html()
    clock.ahead = 25 * HOUR
    await shows(pages[0], "Stale, no events for")
    await shows(pages[1], "1 stale session")
    for page in pages:
        await page.agree()

    clock.ahead = timedelta()
    await in_thread(
        place.feed, {**loop.approval("t1", "rm"), "type": "ApprovalResolved", "decision": "granted"}
    )
    for page, words in zip(pages, ("no events for", "stale session"), strict=True):
        await shows(page, words, until=False)
        await page.agree()


async def test_an_evaluation_becomes_stale_and_live_again(place, open_page, clock):
    branches = ["s.a.1", "s.b.1"]
    when = {"timestamp": now()}
    await in_thread(
        place.feed,
        build.agent_start("s.m.1") | when,
        build.parallel_start(*branches, session="s") | when,
        *(build.agent_start(branch, parent="s.m.1") | when for branch in branches),
    )
    group = await in_thread(lambda: ParallelGroupRecord.objects.get().pk)
    pages = [await open_page(f"/p/{place.project.slug}/evaluations{path}") for path in ("", f"/{group}")]

    clock.ahead = HOUR
    for page in pages:
        await shows(page, 'data-state="stale"')
        await page.agree()

    clock.ahead = timedelta()
    await in_thread(place.feed, build.turn_start("s.a.1") | {"timestamp": now()})
    for page in pages:
        await shows(page, 'data-state="stale"', until=False)
        await page.agree()


def test_sessions_that_became_stale_are_found_once(place, clock):
    place.feed(Loop("one").start(), *Loop("two").whole("done"))
    begin, one = timezone.now(), Session.objects.get(session_id="one").pk

    def found(since, now, touched=()):
        return became_stale(place.project.pk, begin + since, begin + now, touched).stale

    assert found(timedelta(), HOUR / 4) == set()
    assert found(HOUR / 4, HOUR) == {one}
    assert found(HOUR, 2 * HOUR) == set()
    assert found(HOUR, 2 * HOUR, touched=[one]) == {one}


def test_checks_are_as_frequent_as_the_limits_ask(settings):
    settings.LOOPSCOPE_STALE_S, settings.LOOPSCOPE_STALE_WAITING_S = 1_800, 86_400
    assert check_interval_s() == stale_sessions.CHECK_S
    settings.LOOPSCOPE_STALE_S = 10
    assert check_interval_s() == 1
    settings.LOOPSCOPE_STALE_S = settings.LOOPSCOPE_STALE_WAITING_S = 0
    assert check_interval_s() is None

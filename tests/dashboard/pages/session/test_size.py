"""Limits on queries, rows and bytes of a session page, for sessions of any size."""

from django.db import connection
from django.test.utils import CaptureQueriesContext

from dashboard.live.panel import Panel
from dashboard.pages.session import panels
from dashboard.pages.session.page import PAGE_BYTES
from dashboard.pages.session.replay.queries import track_source
from dashboard.templatetags.cached_partial import cached_partial
from recorder.models import EventRecord, LoopRecord, Session
from tests.support import build


def chain(*numbers):
    """Yield loops that continue each other."""
    for n in numbers:
        more = {"parent": f"s.a.{n - 1}", "kind": "Default"} if n else {}
        yield from build.small_loop(f"s.a.{n}", **more)


def test_a_page_reads_the_structure_of_its_tree_once(feed, session):
    feed(*chain(*range(3)))
    with CaptureQueriesContext(connection) as captured:
        session()
    shapes = [
        query for query in captured if 'AS "continuation_kind" FROM "recorder_looprecord"' in query["sql"]
    ]
    assert len(shapes) == 1
    assert len(captured) <= 55


def test_the_track_of_many_loops_is_drawn_from_a_sample(feed, monkeypatch):
    feed(*chain(*range(40)), build.agent_start("s.b.1"))
    whole = panels.TRACK.query([Session.objects.get().pk])
    monkeypatch.setattr(track_source, "READ", 40)
    monkeypatch.setattr(track_source, "LOOPS", 10)
    monkeypatch.setattr(track_source, "LONG", 10)
    drawn = []
    layout = track_source.layout
    monkeypatch.setattr(track_source, "layout", lambda *args: drawn.append(args) or layout(*args))

    some = panels.TRACK.query([Session.objects.get().pk])

    [(events, loops)] = drawn
    begun = list(LoopRecord.objects.order_by("pk").values_list("start_event", flat=True))
    assert len(events) < EventRecord.objects.count() / 2
    assert [loop.since for loop in loops] == sorted({*begun[::5], begun[-1]})
    assert loops[-1].until is None
    assert {loop.since for loop in loops} <= {each.event for each in events}
    [before], [after] = whole.values(), some.values()
    assert (after.events, after.is_running) == (before.events, before.is_running)
    assert after.layout.stops[0].event == begun[0]


def test_a_page_of_large_turns_and_many_loops_has_at_most_120_kb(feed, session, see):
    # Three turns fit with room to spare: primary keys of a database in use have more digits.
    long = "What the test says of it. " * 16

    def turn(loop, n):
        call = f"c{n}"
        yield build.turn_start(loop, index=n)
        for part in range(4):
            yield build.tool_start(loop, call=f"{call}-{part}") | {"args": {"text": long}}
            result = {"content": [{"type": "text", "text": long}], "details": None}
            yield build.tool_end(loop, call=f"{call}-{part}") | {"result": result}
        yield build.turn_end(loop, message=build.assistant(f"Answer {n}. {long}"))

    prompt = [build.message_end("s.a.1", message=build.user(long))]
    feed(*chain(*range(2, 120)), build.agent_start("s.a.1"), *prompt)
    feed(*(event for n in range(30) for event in turn("s.a.1", n)))

    page = session()

    shown = [n for n in range(30) if f"Answer {n}. " in page.text]
    assert 2 < len(shown) < 30
    assert shown == list(range(30 - len(shown), 30))
    (earlier,) = {href.removesuffix("#loop") for href in page.links if "before=" in href}
    assert f"Answer {shown[0] - 1}. " in see(earlier).text
    assert f"first={shown[0]}" in page.html
    loop = (
        f"/p/default/sessions/{Session.objects.get().pk}/loops/{LoopRecord.objects.get(loop_id='s.a.1').pk}"
    )
    selected = see(f"{loop}?turn=3")
    assert 'id="turn-3"' in selected.html
    assert len(page.html.encode()) <= PAGE_BYTES
    assert len(selected.html.encode()) <= PAGE_BYTES
    for html in (see(f"{loop}?tab=events").html, see(f"{loop}?tab=events&scope=session").html):
        assert len(html.encode()) < 300_000


def test_unchanged_partials_are_rendered_once(feed, session):
    tool = [build.turn_start("s.a.0"), build.tool_start("s.a.0"), build.tool_end("s.a.0")]
    feed(*chain(*range(1, 4)), build.agent_start("s.a.0"), *tool)
    session()
    before = cached_partial.cache_info().misses

    again = session()
    assert cached_partial.cache_info().misses == before

    feed(build.tool_start("s.a.0", call="more"))
    more = session()
    assert again.html.count('id="session-tool-') + 1 == more.html.count('id="session-tool-')
    assert cached_partial.cache_info().misses - before <= 2  # the new tool, and the row of its loop


def test_turns_beyond_the_size_limit_are_not_rendered(feed, session, monkeypatch):
    long = "What the test says of it. " * 300
    turns = (
        (build.turn_start(index=n), build.turn_end(message=build.assistant(f"Answer {n}. {long}")))
        for n in range(30)
    )
    feed(build.agent_start(), *(event for both in turns for event in both))
    drawn = []
    fragment = Panel.fragment

    def recorded(panel, pk, value, **more):
        drawn.append(panel.name)
        return fragment(panel, pk, value, **more)

    monkeypatch.setattr(Panel, "fragment", recorded)

    page = session()

    shown = page.html.count('class="turn"')
    assert 5 < shown < 9
    assert (
        drawn.count("session/conversation/turn") == shown + 1
    )  # one more, to measure that it exceeds the limit

"""The timeline tab: lanes, waits, tools and approvals at the positions of their times."""

import re
from datetime import timedelta

import pytest

from dashboard.live.project_topic import Topic
from recorder.models import LoopRecord
from tests.dashboard.open_page import in_thread
from tests.support import build
from tests.support.build import NINE

BRANCH = re.compile(r"M([\d.]+) [\d.]+h([\d.]+)v")


def boxes(page, css):
    """Return start and width, in percent, of all bars of a kind, lane by lane of the session."""
    table = next(e for e in page.root.walk() if "data-timeline" in e.attributes)
    lanes = [e for e in table.walk() if "waterfall-bars" in e.attributes.get("class", "")]
    return [
        [
            (round(float(x) / 10, 2), round(float(width) / 10, 2))
            for each in lane.elements
            if each.attributes["class"] == css
            for x, width in BRANCH.findall(each.attributes["d"])
        ]
        for lane in lanes
    ]


def turn(loop, start, end, index=0):
    return [build.turn_start(loop, index=index, at=start), build.turn_end(loop, at=end)]


def tool(loop, start, end, call="c1", **more):
    return [
        build.tool_start(loop, call=call, timestamp=build.time(start)),
        build.tool_end(loop, call=call, timestamp=build.time(end), **more),
    ]


def parallel():
    """Two branches that overlap, their judge, and a loop that waits for approval."""
    return [
        build.parallel_start("s.b.1", "s.b.2"),
        build.agent_start("s.b.1"),
        build.agent_start("s.b.2"),
        build.turn_start("s.b.1", at=0),
        build.turn_start("s.b.2", at=10),
        *tool("s.b.1", 20, 30),
        *tool("s.b.2", 30, 40, is_error=True),
        build.turn_end("s.b.1", at=40),
        build.turn_end("s.b.2", at=50),
        build.agent_end("s.b.1", at=40),
        build.agent_end("s.b.2", at=50),
        build.agent_start("s.j.1", at=50),
        *turn("s.j.1", 50, 60),
        build.agent_end("s.j.1", at=60),
        build.parallel_end("s.b.1", at=60),
        build.agent_start("s.c.1", at=60, parent="s.b.1", kind="Default"),
        build.turn_start("s.c.1", at=60),
        build.ours(
            "ApprovalRequested", loop="s.c.1", kind="command", command="rm -rf x", timestamp=build.time(70)
        ),
        build.ours(
            "ApprovalResolved", loop="s.c.1", command="rm -rf x", decision="granted", timestamp=build.time(95)
        ),
        build.turn_end("s.c.1", at=100),
        build.agent_end("s.c.1", at=100),
    ]


def test_bars_are_at_the_positions_of_their_times(feed, session):
    feed(*parallel())
    page = session(query="?tab=timeline")

    assert boxes(page, "span-model") == [[(0, 20)], [(10, 20)], [(50, 10)], [(60, 40)]]
    assert boxes(page, "span-tool") == [[(20, 10)], [], [], []]
    assert boxes(page, "span-failed") == [[], [(30, 10)], [], []]
    assert boxes(page, "span-approval") == [[], [], [], [(70, 25)]]
    places = [
        e.attributes["class"]
        for e in page.root.walk()
        if "waterfall-parallel" in e.attributes.get("class", "")
    ]
    assert [each.split()[2] for each in places] == ["waterfall-first", "waterfall-mid", "waterfall-last"]


def test_a_sub_agent_with_a_session_of_its_own_has_a_lane_below_its_caller(feed, session):
    feed(
        build.agent_start("s.a.1"),
        build.turn_start("s.a.1", at=0),
        *tool("s.a.1", 20, 80, child="kid.a.1"),
        build.turn_end("s.a.1", at=100),
        build.agent_end("s.a.1", at=100),
    )
    feed(build.agent_start("kid.a.1", at=25), *turn("kid.a.1", 30, 70), build.agent_end("kid.a.1", at=75))
    page = session("s", query="?tab=timeline")
    assert boxes(page, "span-model") == [[(0, 20)], [(30, 40)]]
    assert "Sub-agent" in page.part("main")


def test_an_idle_hour_is_folded_and_shown_on_request(feed, session):
    feed(
        build.agent_start(),
        *turn("s.a.1", 0, 60),
        *turn("s.a.1", 3660, 3720, index=1),
        build.agent_end(at=3720),
    )

    page = session(query="?tab=timeline")
    assert "1h 00m idle" in page.text
    assert boxes(page, "span-model") == [[(0, 48.5), (51.5, 48.5)]]

    page = session(query="?tab=timeline&idle=1")
    assert "idle, folded" not in page.text
    assert boxes(page, "span-model") == [[(0, 1.61), (98.39, 1.61)]]


def test_zoom_shows_a_part_of_the_axis(feed, session):
    feed(*parallel())
    page = session(query="?tab=timeline&zoom=50-100")
    assert boxes(page, "span-model") == [[], [], [(0, 20)], [(20, 80)]]
    assert any("zoom=62.500-87.500" in href for href in page.links)
    assert any(href.endswith("tab=timeline#loop") for href in page.links)


def test_an_empty_zoom_has_a_link_to_the_whole(feed, session):
    feed(*parallel())
    page = session(query="?tab=timeline&zoom=0.1-0.2")
    assert any(href.endswith("tab=timeline#loop") for href in page.links)
    feed(build.agent_start("t.a.1"), build.turn_start("t.a.1", at=9))
    assert session("t", query="?tab=timeline&zoom=2-4").root.find("main").html().count("data-timeline") == 1


@pytest.mark.parametrize("zoom", ["x", "9-1", "1-1", "-5-9", "1-99999999999", "500-900"])
def test_an_invalid_zoom_is_ignored(feed, session, zoom):
    feed(*parallel())
    page = session(query=f"?tab=timeline&zoom={zoom}")
    assert len(boxes(page, "span-model")) == 4


def test_a_wait_for_the_first_token_ends_when_it_was_received(feed, session):
    for seconds, *events in (
        (0, build.agent_start(at=0), build.turn_start(at=0), build.turn_request(at=0), build.message_start()),
        (40, build.message_update()),
        (90, build.message_end(message=build.assistant())),
        (100, build.turn_end(at=100)),
    ):
        feed(*events, producer="p", received_at=NINE + timedelta(seconds=seconds))
    page = session(query="?tab=timeline")
    assert boxes(page, "span-wait") == [[(0, 40)]]
    assert boxes(page, "span-model") == [[(40, 50)]]
    assert "when the line was received" in page.text


def test_imported_tool_calls_without_times_are_counted(feed, session):
    feed(
        build.agent_start(),
        build.turn_start(),
        build.tool_start(),
        build.tool_end(),
        build.turn_end(),
        build.agent_end(),
    )
    page = session(query="?tab=timeline")
    assert "1 tool call not shown" in page.text


def test_lanes_link_to_loops_and_parts_to_the_conversation(feed, session):
    feed(*parallel())
    row = LoopRecord.objects.get(loop_id="s.b.1")
    page = session(query="?tab=timeline")
    assert f"/p/default/sessions/{row.session_id}/loops/{row.pk}?tab=timeline#loop" in page.links
    assert any(href.endswith("?turn=1#turn-1") for href in page.links)


def test_many_loops_are_shown_in_a_window(feed, session):
    feed(
        *(
            event
            for n in range(300)
            for event in [
                build.agent_start(f"s.a.{n}", at=n * 10),
                *(
                    each
                    for t in range(4)
                    for each in turn(f"s.a.{n}", n * 10 + t * 2, n * 10 + t * 2 + 1, index=t)
                ),
                build.agent_end(f"s.a.{n}", at=n * 10 + 9),
            ]
        )
    )
    page = session(query="?tab=timeline")
    assert "200 loops not shown" in page.text
    assert len(page.html) < 300_000


def test_a_session_without_times_has_no_timeline(feed, session):
    feed(build.parallel_start("s.b.1", "s.b.2"))
    assert "No timed events yet." in session(query="?tab=timeline").text


async def test_the_pushed_timeline_equals_that_of_a_reload(place, open_page, monkeypatch):
    monkeypatch.setattr(Topic, "_due", lambda topic, key: 0.0)
    events = parallel()
    await in_thread(lambda: place.feed(*map(build.line, events[:5])))
    path = (await in_thread(place.loops))[0]
    page = await open_page(f"{path}?tab=timeline")
    for event in events[5:]:
        await in_thread(lambda event=event: place.feed(build.line(event)))
    await page.agree()

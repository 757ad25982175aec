"""An evaluation in two browsers: pending, running, judging, winner; where branches differ."""

import json
import re
import time
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.dashboard.pages.evaluations.branches import branch, end, judge, start
from tests.support import build

TAPE = Path(__file__).parents[2] / "recorder/demo/tapes/c-evaluation-with-judge.jsonl"
EVENTS = [json.loads(line) for line in TAPE.read_text().splitlines()]

# Elements around the table that scroll by themselves.
BOXES = """() => {
  const scrolls = (element) => /auto|scroll/.test(getComputedStyle(element).overflow);
  let boxes = 0;
  let around = document.querySelector(".comparison").parentElement;
  for (; around !== document.body; around = around.parentElement) boxes += scrolls(around);
  return boxes;
}"""


@pytest.fixture
def tape():
    """The demo's evaluation under new ids: the group's start, its branches, its judge, its end."""
    mark = f"evaluation-{time.monotonic_ns()}"
    known = EVENTS[0]["session_id"]
    judges = next(e["loop_id"] for e in EVENTS if e["type"] == "AgentStart" and e["agent_id"] == "judge")
    text = json.dumps(EVENTS).replace(known, mark).replace(judges, f"{mark}-judge")
    events = json.loads(text)
    last = next(n for n, event in enumerate(events) if event["type"] == "ParallelLoopEnd")
    of_judge = [event for event in events[:last] if event.get("loop_id") == f"{mark}-judge"]
    branches = [event for event in events[1:last] if event not in of_judge]
    return events[0], branches, of_judge, events[last]


def evaluation_url(server, session):
    groups = server.read(f"/api/v1/groups?session_id={session}")["items"]
    return f"{server.url}/p/default/evaluations/{groups[-1]['id']}"


def test_it_moves_from_pending_to_its_winner_in_two_browsers(server, window, tape):
    begun, branches, judging, ended = tape
    agent = server.agent()
    agent.send(begun)
    pages = [window().open(evaluation_url(server, begun["session_id"])) for _ in range(2)]
    for page in pages:
        assert page.locator(".lane[data-state=pending]").count() == 3

    agent.send(*branches[:12])
    for page in pages:
        page.locator(".lane[data-state=running]").nth(2).wait_for()

    agent.send(*branches[12:])
    agent.send(*judging[:3], *streamed(judging, "Branch 1 is"))
    for page in pages:
        page.locator(".lanes .block", has_text="Branch 1 is").wait_for()
        page.locator(".verdict", has_text="The judge is reading.").wait_for()

    agent.send(*judging[3:])
    agent.send(ended)
    for page in pages:
        page.locator(".verdict", has_text=" won.").wait_for()
        page.locator(".lane").first.wait_for(state="detached")
        live = page.locator("#main").inner_html()
        page.reload()
        page.locator("[data-connection=live]").wait_for()
        assert without_times(page.locator("#main").inner_html()) == without_times(live)


def streamed(judging, text):
    name = judging[0]["loop_id"]
    return [build.message_start(name), build.message_update(name, text)]


def without_times(html):
    """Return the HTML without times, which scripts rewrite in the reader's time zone."""
    return re.sub(r"\s+", " ", re.sub(r"<time.*?</time>", "", html))


def test_a_winner_is_in_the_first_frames_after_the_end(server, window):
    agent, page, frames = server.agent(), window().page, []
    session = f"won-{time.monotonic_ns()}"
    agent.send(*named(session, start(1, 2), *branch(1, "One."), *branch(2, "Two."), *judge("2")))
    note = lambda frame: frames.append(frame)  # noqa: E731, PLW0108  playwright marks what it is given
    page.on("websocket", lambda socket: socket.on("framereceived", note))
    page.goto(evaluation_url(server, session))
    page.locator("[data-connection=live]").wait_for()
    frames.clear()

    agent.send(*named(session, end(2)))
    page.locator(".verdict", has_text="model-2 won.").wait_for()

    assert 'data-verdict="judged"' in "".join(frames[:2])  # the first may be of the page's start


def named(session, *events):
    """Return the events as those of another session."""
    text = json.dumps(events).replace('"s.', f'"{session}.').replace('"s"', f'"{session}"')
    return json.loads(text.replace('"judge"', f'"{session}-judge"'))


@pytest.fixture(scope="module")
def six_branches(server):
    """An evaluation of six branches of 41 turns; return its address."""
    session, numbers = f"six-{time.monotonic_ns()}", range(1, 7)
    turns = [f"read file-{n}" for n in range(40)]
    events = [start(*numbers), *(e for n in numbers for e in branch(n, *turns, "Done.")), *judge("1"), end(1)]
    server.agent().send(*named(session, *events))
    return evaluation_url(server, session)


@pytest.mark.parametrize("width", [1440, 1024, 1000, 768])
def test_six_branches_scroll_with_the_page_under_heads_that_stay(window, six_branches, width):
    page = window(viewport={"width": width, "height": 900}).open(six_branches)

    assert page.evaluate("document.documentElement.scrollWidth > innerWidth")
    assert page.evaluate(BOXES) == 0
    page.evaluate("scrollTo(300, 1200)")
    page.wait_for_function("scrollX === 300 && scrollY > 600")
    nav, head, label, cell = (
        page.locator(each).first.bounding_box()
        for each in (
            ".nav",
            ".comparison thead th",
            ".comparison .steps th[scope=row]",
            ".comparison .steps th[scope=row] + td",
        )
    )
    is_on_top = nav["height"] < 100
    assert (nav["x"], nav["y"]) == (0, 0)
    assert head["y"] == (nav["height"] if is_on_top else 0)
    left = 0 if is_on_top else nav["width"]
    assert left <= label["x"] < left + 40
    assert cell["x"] < label["x"] + label["width"]  # it is below the label


def test_on_a_phone_the_second_branch_is_in_sight_and_the_last_can_be_reached(window, six_branches):
    page = window(viewport={"width": 390, "height": 844}).open(six_branches)
    heads, region = page.locator(".comparison thead th"), page.locator(".comparison-scroll")
    assert heads.nth(1).bounding_box()["x"] < 350
    region.evaluate("each => each.scrollTo(100000, 1200)")
    page.wait_for_function("document.querySelector('.comparison-scroll').scrollLeft > 600")
    last = heads.last.bounding_box()
    assert last["x"] + last["width"] <= 390
    assert last["y"] == region.bounding_box()["y"]  # the heads stay
    assert page.locator(".steps th[scope=row]").first.bounding_box()["x"] == region.bounding_box()["x"]


def test_on_a_phone_only_the_comparison_scrolls_sideways(window, six_branches):
    page = window(viewport={"width": 390, "height": 844}).open(six_branches)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    region = page.locator(".comparison-scroll").bounding_box()
    assert region["height"] <= 844 - page.locator(".nav").bounding_box()["height"]


def test_a_link_leads_to_the_first_difference_of_the_branches(server, window):
    session = f"part-{time.monotonic_ns()}"
    same = [f"read file-{n}" for n in range(40)]
    events = [
        start(1, 2),
        *branch(1, *same, "edit one", "One."),
        *branch(2, *same, "bash two", "Two."),
        *judge("1"),
        end(1),
    ]
    server.agent().send(*named(session, *events))
    page = window().open(evaluation_url(server, session) + "#divergence")

    row = page.locator("#divergence")
    assert row.locator("th").inner_text().startswith("Turn 41")
    assert page.evaluate("document.querySelector('#divergence').getBoundingClientRect().top < innerHeight")
    row.locator("a.step").nth(1).click()
    page.wait_for_url(re.compile(r"/loops/\d+\?turn=41"))
    page.get_by_text("two").first.wait_for()


def rows_of_turns(page):
    return page.locator(".steps th", has_text=re.compile(r"Turn \d+$|between"))


def test_rows_are_loaded_when_the_reader_scrolls_to_them_and_the_focus_stays(server, window):
    session, numbers = f"long-{time.monotonic_ns()}", range(1, 7)
    turns = [f"read file-{n}" for n in range(70)]
    events = [start(*numbers), *(e for n in numbers for e in branch(n, *turns, "Done.")), *judge("1"), end(1)]
    server.agent().send(*named(session, *events))
    page = window().open(evaluation_url(server, session) + "?row=41#turn-rows-41")
    expect(page.locator("#turn-rows-21[data-loaded]")).to_have_count(1)
    top = page.locator("#turn-rows-41 tr").first.evaluate("row => row.getBoundingClientRect().top")
    assert 0 <= top < 200

    page = window().open(evaluation_url(server, session))
    expect(rows_of_turns(page)).to_have_count(20)
    link = page.get_by_role("link", name="Rows 21 to 40")
    link.focus()
    loaded = page.locator("#turn-rows-21[data-loaded]")
    expect(loaded.locator("tr")).to_have_count(20)
    assert page.evaluate("document.activeElement.closest('tbody').id") == "turn-rows-21"
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    expect(page.locator(".steps .step")).to_have_count(71 * 6)


def test_loaded_rows_follow_a_branch_that_runs(server, window):
    session, numbers = f"runs-{time.monotonic_ns()}", range(1, 7)
    turns = [f"read file-{n}" for n in range(30)]
    before = [e for n in numbers for e in branch(n, *turns)[:-1]]
    agent = server.agent()
    agent.send(*named(session, start(*numbers), *before))
    page = window().open(evaluation_url(server, session) + "#turn-rows-21")
    expect(page.locator("#turn-rows-21[data-loaded] tr")).to_have_count(10)

    agent.send(*named(session, *(e for n in numbers for e in branch(n, *turns, "bash late")[-5:-1])))
    expect(page.locator("#turn-rows-21[data-loaded] tr")).to_have_count(11)
    expect(page.locator("#turn-rows-21 .step", has_text="late")).to_have_count(6)

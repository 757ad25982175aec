"""An evaluation in two browsers: pending, running, judging, winner; where branches differ."""

import json
import re
import time
from pathlib import Path
from statistics import median

import pytest

from tests.dashboard.pages.evaluations.branches import branch, end, judge, start
from tests.support import build

TAPE = Path(__file__).parents[2] / "recorder/demo/tapes/c-evaluation-with-judge.jsonl"
EVENTS = [json.loads(line) for line in TAPE.read_text().splitlines()]
# Notes when the page names a winner.
CLOCK = """() => {
  const look = () => {
    if (!window.won && document.querySelector("[data-verdict=judged]")) window.won = Date.now();
  };
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true, attributes: true });
}"""

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


@pytest.mark.alone
def test_a_winner_is_there_within_half_a_second_of_the_end(server, window):
    agent, page, waits = server.agent(), window().page, []
    for _ in range(5):  # a browser alone on a busy machine may be late once
        session = f"won-{time.monotonic_ns()}"
        agent.send(*named(session, start(1, 2), *branch(1, "One."), *branch(2, "Two."), *judge("2")))
        page.goto(evaluation_url(server, session))
        page.locator("[data-connection=live]").wait_for()
        page.evaluate(CLOCK)
        sent = time.time() * 1000
        agent.send(*named(session, end(2)))
        page.locator(".verdict", has_text="model-2 won.").wait_for()
        waits.append(page.evaluate("won") - sent)
    assert median(waits) < 500, waits


def named(session, *events):
    """Return the events as those of another session."""
    text = json.dumps(events).replace('"s.', f'"{session}.').replace('"s"', f'"{session}"')
    return json.loads(text.replace('"judge"', f'"{session}-judge"'))


def test_six_branches_scroll_with_the_page_under_heads_that_stay(server, window):
    session, numbers = f"six-{time.monotonic_ns()}", range(1, 7)
    turns = [f"read file-{n}" for n in range(40)]
    events = [start(*numbers), *(e for n in numbers for e in branch(n, *turns, "Done.")), *judge("1"), end(1)]
    server.agent().send(*named(session, *events))
    page = window(viewport={"width": 1440, "height": 900}).open(evaluation_url(server, session))

    assert page.evaluate("document.documentElement.scrollWidth > innerWidth")
    assert page.evaluate(BOXES) == 0
    page.evaluate("scrollTo(400, 1200)")
    page.wait_for_function("scrollX === 400 && scrollY > 600")
    nav, head, first = (
        page.locator(each).first.bounding_box()
        for each in (".nav", ".comparison thead th", ".comparison .steps tr:last-child th")
    )
    assert (nav["x"], nav["y"], head["y"]) == (0, 0, 0)
    assert nav["width"] <= first["x"] < nav["width"] + 40


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

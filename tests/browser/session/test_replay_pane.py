"""As of an event the pane is scrolled to the event, wherever the reader had scrolled before."""

import pytest

from tests.support import build

TURNS = 30


@pytest.fixture(scope="module")
def session(server):
    """Return the address of a session whose conversation is longer than any window."""
    events = [build.agent_start("long.a.1")]
    for turn in range(TURNS):
        message = build.assistant(f"Answer {turn}. " + "And more of it. " * 40)
        events += [build.turn_start("long.a.1", index=turn), build.message_end("long.a.1", message=message)]
        events += [build.turn_end("long.a.1", index=turn, message=message)]
    server.agent().send(*events, build.agent_end("long.a.1"))
    return server.read("/api/v1/sessions")["items"][0]["url"]


@pytest.fixture
def past(window, server, session):
    """Open the session as of an event in the middle, and return its page."""
    page = window(viewport={"width": 1000, "height": 600}).open(session)
    middle = page.locator("[data-replay] .replay-track").get_attribute("data-stops").split()[TURNS * 3 // 2]
    page.goto(f"{server.url}{session}?at={middle.partition(':')[0]}")
    page.locator("[data-connection=live]").wait_for()
    return page


def is_at_end(page):
    return page.locator("#loop-scroll").evaluate(
        "pane => pane.scrollHeight > pane.clientHeight + 100"
        " && pane.scrollTop + pane.clientHeight > pane.scrollHeight - 2"
    )


def test_an_address_as_of_an_event_opens_at_the_event(past):
    assert is_at_end(past)


def test_a_step_moves_the_pane_to_its_event_after_the_reader_scrolled_away(past):
    number = int(past.locator("[data-replay]").get_attribute("data-number"))
    for key, now in (("ArrowRight", number + 1), ("ArrowRight", number + 2), ("ArrowLeft", number + 1)):
        past.locator("#loop-scroll").evaluate("pane => (pane.scrollTop = 0)")
        past.keyboard.press(key)
        past.locator(f"[data-replay][data-number='{now}']").wait_for()
        past.wait_for_function("() => document.querySelector('#loop-scroll').scrollTop > 0")
        assert is_at_end(past)


def test_an_address_with_a_place_of_its_own_keeps_it(past):
    first = past.locator(".turn-header").first.get_attribute("id")
    past.goto(f"{past.url.partition('#')[0]}#{first}")
    past.reload()
    assert not is_at_end(past)


def test_the_first_tap_on_the_track_seeks_although_its_script_loads_then(window, session):
    page = window(viewport={"width": 390, "height": 844}, has_touch=True).open(session)
    box = page.locator(".replay-drawing").bounding_box()
    page.touchscreen.tap(box["x"] + 0.4 * box["width"], box["y"] + 10)
    page.locator("[data-replay][data-number]").wait_for()
    assert 20 < int(page.locator("[data-replay]").get_attribute("data-number")) < 60


def test_play_on_the_live_page_plays_from_the_first_event(window, session):
    page = window(viewport={"width": 390, "height": 844}, has_touch=True).open(session)
    page.get_by_role("button", name="Play").tap()
    page.wait_for_url("**at=*")
    page.wait_for_function("() => document.querySelector('[data-replay]').dataset.number > 3")

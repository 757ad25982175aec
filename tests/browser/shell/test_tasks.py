"""What people come for, by mouse and by keyboard, in a counted number of actions from another page.

An action is a click, a key, a sequence of keys such as `g c`, or a text that is typed.
"""

from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect

from tests.support import build

SONNET = {"model": "claude-sonnet-4-6", "provider": "anthropic", "api": "anthropic_messages"}
NOW = datetime.now(UTC)
YESTERDAY = NOW.replace(hour=12, minute=0, second=0) - timedelta(days=1)
REASON = "the tax service is down"


class Hand:
    """What one does on a page, counted."""

    def __init__(self, page) -> None:
        self.page = page
        self.actions = 0

    def click(self, role: str, name: str) -> None:
        self.actions += 1
        self.page.get_by_role(role, name=name).first.click()

    def keys(self, *keys: str, to: str = "") -> None:
        """Press keys; wait for the page that they open, as it ignores keys until it is complete."""
        self.actions += 1
        for key in keys:
            self.page.keyboard.press(key)
        if to:
            self.page.wait_for_url(f"**/p/default/{to}")

    def write(self, text: str) -> None:
        self.actions += 1
        self.page.keyboard.type(text)


@pytest.fixture(scope="module", autouse=True)
def recorded(server):
    """Sessions of this week: failures of two days, one with many dear turns, and one that edits a file."""
    events = [*failing("older", NOW - timedelta(days=3), "no key"), *failing("late", YESTERDAY, REASON)]
    events += failing("latest", NOW, REASON)  # yesterday's, if a day ends while the tests run
    events += [event for n in range(3) for event in spending(f"cheap{n}", [10_000] * 2)]
    events += spending("dear", [n * 10_000 for n in (*range(1, 25), 70, *range(1, 25))])
    events += calling("edits", "src/ledger.py", 900)
    events += [event for n in range(3) for event in calling(f"reads{n}", f"src/other{n}.py", 5)]
    server.agent().send(*events)


def failing(session, at, error):
    loop, time = f"{session}.a.1", at.isoformat()
    end = build.agent_end(loop, timestamp=time) | {"outcome": "failed", "error": error}
    return [build.agent_start(loop, timestamp=time), end]


def spending(session, tokens):
    """Return a loop with a turn for each number of tokens."""
    loop, time = f"{session}.a.1", NOW.isoformat()
    yield build.agent_start(loop, config_snapshot=SONNET, timestamp=time)
    for index, count in enumerate(tokens):
        yield build.turn_start(loop, index=index) | {"timestamp": time}
        yield build.turn_end(loop, tokens=count, timestamp=time)
    yield build.agent_end(loop, tokens=sum(tokens), timestamp=time)


def calling(session, path, seconds):
    """Return a loop with a call of a tool that edits a file and takes a while."""
    loop, time = f"{session}.a.1", NOW.isoformat()
    edit = {"file_path": path, "old_string": "a", "new_string": "b"}
    yield build.agent_start(loop, timestamp=time)
    yield build.turn_start(loop) | {"timestamp": time}
    yield build.tool_start(
        loop, name="Edit", args=edit, timestamp=(NOW - timedelta(seconds=seconds)).isoformat()
    )
    yield build.tool_end(loop, name="Edit", timestamp=time)
    yield build.turn_end(loop, timestamp=time)
    yield build.agent_end(loop, timestamp=time)


def failures_by_mouse(hand):
    hand.click("link", "Attention")
    hand.click("link", "Yesterday")


def failures_by_keyboard(hand):
    hand.keys("g", "a", to="attention")
    hand.keys("Y")


def failures(page):
    expect(page.get_by_role("link", name="Yesterday")).to_have_attribute("aria-current", "true")
    reasons = page.get_by_role("region", name="Failures by reason")
    expect(reasons.get_by_text(REASON)).to_be_in_viewport()
    expect(reasons.get_by_text("no key")).to_have_count(0)


def dearest_turn_by_mouse(hand):
    hand.click("link", "Cost, by config")
    hand.page.wait_for_url("**sort=-cost**")
    hand.click("link", "dear")
    hand.click("link", "dearest turn")


def dearest_turn_by_keyboard(hand):
    hand.keys("D", to="sessions/*")
    hand.keys("D")


def dearest_turn(page):
    page.wait_for_url("**/loops/*?turn=25#turn-25")
    expect(page.locator("#turn-25")).to_be_in_viewport()


def slowest_call_by_mouse(hand):
    hand.click("link", "Calls")
    hand.click("link", "Slowest call")


def slowest_call_by_keyboard(hand):
    hand.keys("g", "t", to="calls")
    hand.keys("S")


def slowest_call(page):
    page.wait_for_url("**/loops/*#session-tool-*")
    call = page.locator(f"#{page.url.rpartition('#')[2]}")
    expect(call).to_be_in_viewport()
    expect(call).to_contain_text("15m")


def connect_by_mouse(hand):
    hand.click("link", "Connect an agent")


def connect_by_keyboard(hand):
    hand.keys("g", "k")


def connect(page):
    page.wait_for_url("**/connect")


def file_by_mouse(hand):
    hand.click("link", "Go to…")
    hand.write("src/ledger.py")


def file_by_keyboard(hand):
    hand.keys("Control+k")
    hand.write("src/ledger.py")


def file(page):
    """The palette names the session at once."""
    found = page.get_by_role("dialog").get_by_role("option")
    expect(found.filter(has_text="edits")).to_be_visible()
    expect(found.filter(has_text="reads")).to_have_count(0)


def models_by_mouse(hand):
    hand.click("link", "Costs")
    hand.click("link", "By model")


def models_by_keyboard(hand):
    hand.keys("g", "c", to="costs")
    hand.keys("M")


def models(page):
    page.wait_for_url("**/costs?by=model")
    expect(page.get_by_role("link", name="7d", exact=True)).to_have_attribute("aria-current", "true")
    costs = page.get_by_role("group", name="Costs by model")
    expect(costs.get_by_role("rowheader", name="claude-sonnet-4-6")).to_be_visible()


TASKS = {
    "yesterday's failures and why": (3, failures_by_mouse, failures_by_keyboard, failures),
    "the dearest turn of the dearest session": (
        3,
        dearest_turn_by_mouse,
        dearest_turn_by_keyboard,
        dearest_turn,
    ),
    "the slowest call of the week": (2, slowest_call_by_mouse, slowest_call_by_keyboard, slowest_call),
    "connect another agent": (2, connect_by_mouse, connect_by_keyboard, connect),
    "where a file was edited": (2, file_by_mouse, file_by_keyboard, file),
    "what each model cost last week": (3, models_by_mouse, models_by_keyboard, models),
}


@pytest.mark.parametrize("by", ["mouse", "keyboard"])
@pytest.mark.parametrize("task", TASKS)
def test_a_task_takes_few_actions(window, task, by):
    most, by_mouse, by_keyboard, is_done = TASKS[task]
    page = window(viewport={"width": 1440, "height": 900}).open("/p/default/sessions")
    hand = Hand(page)

    (by_mouse if by == "mouse" else by_keyboard)(hand)

    is_done(page)
    assert hand.actions <= most


PAGES = ("attention", "calls", "compactions", "settings", "settings/members", "views", "costs", "search")


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("path", PAGES)
def test_from_any_page_an_agent_is_connected_with_two_actions(shared_window, path, width):
    shared_window.renew()
    page = shared_window.open(f"/p/default/{path}")
    page.set_viewport_size({"width": width, "height": 844})
    hand = Hand(page)
    if width == 390:
        hand.click("button", "Menu")
    hand.click("link", "Connect an agent")
    page.wait_for_url("**/connect")
    assert hand.actions <= 2

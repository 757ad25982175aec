"""The list of events of a running loop in a browser: it stays small, and all events can be reached."""

from contextlib import suppress

import pytest
from playwright.sync_api import TimeoutError as NotInTime

from tests.support import build

ROWS = "[data-window] > .event-item"
AT_END = "(pane) => pane.scrollTop + pane.clientHeight > pane.scrollHeight - 4"
LISTED = """() => [...document.querySelector("[data-window]").children].map((each) => {
  if ("gap" in each.dataset) return each.textContent;
  return Number(/reason (\\d+)\\./.exec(each.textContent)?.[1] ?? -1);
})"""
RESUME = """() => {
  delete document.body.dataset.paused;
  dispatchEvent(new CustomEvent("live:pause", { detail: false }));
}"""


@pytest.fixture
def loop(server, request):
    """Return a function that sends a loop's events by number; a row's text ends in its event's number."""
    agent, name = server.agent(), request.node.name

    def send(*numbers):
        agent.send(*(build.input_rejected(f"{name}.a.1", reason=f"reason {n}.") for n in numbers))

    agent.send(build.agent_start(f"{name}.a.1"))
    send.session = name
    return send


def opened(one, server, loop, query="?tab=events"):
    page = one.open(server.session_url(loop.session) + query)
    assert "/loops/" in page.url
    return page


def listed(page):
    """Return the items of the list: events by number, the start as -1, links by text."""
    return page.evaluate(LISTED)


def assert_listed(page, expected, end=None):
    """Wait until the items before `end` are as expected; the script that draws links is loaded late."""
    with suppress(NotInTime):
        page.wait_for_function(
            f"([end, ...expected]) => `${{({LISTED})().slice(0, end ?? undefined)}}` == `${{expected}}`",
            arg=[end, *expected],
        )
    assert listed(page)[:end] == expected


def arrived(page, n):
    page.locator(ROWS, has_text=f"reason {n}.").wait_for(state="attached")


def place(page, n):
    return page.locator(ROWS, has_text=f"reason {n}.").evaluate("(row) => row.getBoundingClientRect().top")


def test_who_follows_has_what_a_reload_shows_and_the_others_come_back_in_place(server, window, loop):
    loop(*range(20))
    one = window()
    page = opened(one, server, loop)
    assert_listed(page, [-1, *range(20)])
    page.keyboard.press("f")
    for start in range(20, 320, 100):
        loop(*range(start, start + 100))
        arrived(page, start + 99)
    assert_listed(page, ["Earlier events", *range(220, 320)])
    assert page.locator("#loop-scroll").evaluate(AT_END)
    assert_listed(window().open(page.url), ["Earlier events", *range(220, 320)])

    page.locator("#loop-scroll").evaluate("(pane) => (pane.scrollTop = 0)")
    before = place(page, 220)
    link = page.get_by_role("link", name="Earlier events")
    link.focus()
    page.keyboard.press("Enter")
    arrived(page, 120)
    assert_listed(page, ["Earlier events", *range(120, 320)])
    assert place(page, 220) == before
    assert link.evaluate("(link) => link == document.activeElement")
    for last in (20, 0):
        page.keyboard.press("Enter")
        arrived(page, last)
        assert place(page, 220) == before
    assert_listed(page, [-1, *range(320)])
    assert page.evaluate("document.activeElement.id") == "loop-scroll"
    assert one.faults == []


def test_who_reads_further_up_stays_there_and_hears_how_many_came(server, window, loop):
    loop(*range(60))
    one = window()
    page = opened(one, server, loop)
    row = page.locator(ROWS, has_text="reason 5.")
    row.locator("details.event-row > summary").click()
    row.locator("[data-loaded]").wait_for()
    before = place(page, 5)
    for start in range(60, 660, 100):
        loop(*range(start, start + 100))
        arrived(page, start + 99)
    page.get_by_role("button", name="600 new events").wait_for()
    page.wait_for_function("(rows) => document.querySelectorAll(rows).length <= 400", arg=ROWS)

    there = listed(page)
    gap = there.index("Later events")
    assert there[:gap] == [-1, *range(gap - 1)]
    assert there[gap + 1 :] == list(range(there[gap + 1], 660))
    assert len(there) <= 401
    assert place(page, 5) == before
    assert row.locator("details.event-row[open]").count() == 1
    assert row.locator("details.event-row > summary").evaluate(
        "(summary) => summary == document.activeElement"
    )

    page.get_by_role("link", name="Later events").first.dispatch_event("click")
    arrived(page, gap + 98)
    assert_listed(page, [-1, *range(gap + 99)], end=gap + 100)
    assert place(page, 5) == before
    assert one.faults == []


def test_rows_that_the_reader_loaded_stay_while_more_than_four_pages_arrive(server, window, loop):
    loop(*range(60))
    page = opened(window(), server, loop)
    for start in range(60, 660, 100):
        loop(*range(start, start + 100))
        arrived(page, start + 99)
    page.wait_for_function("(rows) => document.querySelectorAll(rows).length <= 400", arg=ROWS)
    gap = listed(page).index("Later events")
    page.get_by_role("link", name="Later events").first.dispatch_event("click")
    arrived(page, gap + 98)
    for start in range(660, 1060, 100):
        loop(*range(start, start + 100))
        arrived(page, start + 99)
    page.wait_for_function("(rows) => document.querySelectorAll(rows).length <= 500", arg=ROWS)
    assert_listed(page, [-1, *range(gap + 99)], end=gap + 100)


def test_a_list_of_one_kind_and_of_a_session_misses_no_event_either(server, window, loop):
    other = f"{loop.session}.b.1"
    server.agent().send(build.agent_start(other), build.agent_end(other))
    loop(*range(150))
    for query in ("?tab=events&kind=errors", "?tab=events&scope=session"):
        page = opened(window(), server, loop, query)
        assert listed(page)[0] == "Earlier events"
        page.get_by_role("link", name="Earlier events").click()
        arrived(page, 3)
        there = [n for n in listed(page) if n != -1]
        assert there == list(range(150))


def test_what_came_while_the_connection_was_lost_is_missed(server, window, loop):
    loop(*range(20))
    one = window()
    page = opened(one, server, loop)
    page.evaluate("document.body.dataset.paused = ''")  # what comes now is dropped
    loop(*range(20, 200))
    page.evaluate(RESUME)
    arrived(page, 199)
    assert_listed(page, [-1, *range(20), "Later events", *range(100, 200)])
    page.get_by_role("link", name="Later events").click()
    arrived(page, 99)
    assert_listed(page, [-1, *range(200)])

"""Notifications in a browser with two tabs: every row of the policy, focus, one tab for all, clicks."""

import json

import pytest

from dashboard.lifecycle.notification_policy import POLICY, WASTE
from tests.browser.live.notifying_browser import (
    CHANNEL,
    CLICK,
    COUNT,
    GONE,
    HEARD,
    LINES,
    LOCKED,
    LOOKS,
    NEWS,
    POST,
    SHOWN,
    another,
    answering,
    ends,
    numbers,
    session_of,
)
from tests.support import build

REFUSED_ONCE = """const register = ServiceWorkerContainer.prototype.register;
ServiceWorkerContainer.prototype.register = function (url) {
  ServiceWorkerContainer.prototype.register = register;
  return Promise.reject(new TypeError("no network"));
};"""


@pytest.mark.parametrize("row", POLICY.values(), ids=lambda row: row.key)
def test_a_row_of_the_policy(tabs, row):
    *before, last = LINES[row.key]
    loop = f"row{next(numbers)}.a.1"
    for each in before:
        tabs.agent_does(each, loop=loop)
    tabs.notifications()
    place = session_of(tabs.agent_does(last, loop=loop))
    if row.key == WASTE:
        tabs.until_alarm(loop)
    notes = [(note["title"], note["body"], note["tag"]) for note in tabs.notifications()]
    assert notes == ([(loop.partition(".")[0], row.says, place)] if row.says else [])


def test_a_type_without_a_row_in_the_policy_is_silent(browser, server, signed_in, tabs):
    url = tabs.agent_does(ends("completed"))
    of = {"session_id": "s", "url": url, "at": 0}
    unknown = [
        {"type": "turn-retrying", **of},
        {"type": "turn-finished", "reason": "timeout", **of},
        {"type": "constructor", **of},
    ]
    mark = tabs.agent_does(ends("completed"))
    tabs.notifications()
    frames = [*unknown, {"type": "turn-finished", "reason": "error", "session_id": "s", "url": mark, "at": 0}]
    stream = "".join(f"event: lifecycle\ndata: {json.dumps(frame)}\n\n" for frame in frames)
    with another(browser, signed_in) as context:
        context.route(CHANNEL, lambda route: route.fulfill(body=stream, content_type="text/event-stream"))
        context.route(NEWS, answering(waiting=[]))
        page = context.new_page()
        page.goto(server.url + LOOKS)
        context.new_page().bring_to_front()
        assert page.evaluate(SHOWN, session_of(mark)) == ["Failed"]


@pytest.mark.parametrize(
    ("shown", "in_front", "is_notified"),
    [
        ("the session", True, False),
        ("the session", False, True),
        ("another page", True, True),
        ("another page", False, True),
    ],
)
def test_only_the_session_in_front_is_silent(tabs, shown, in_front, is_notified):
    loop = f"focus{next(numbers)}.a.1"
    url = tabs.agent_does(*LINES["turn-started"], loop=loop)
    with tabs.showing(url if shown == "the session" else LOOKS, in_front=in_front):
        tabs.agent_does(lambda loop: [build.agent_end(loop)], loop=loop)
        notes = tabs.notifications()
    assert [note["tag"] for note in notes] == ([session_of(url)] if is_notified else [])


@pytest.mark.parametrize("in_front", [True, False])
def test_without_titles_any_page_of_ours_in_front_silences(tabs, in_front):
    tabs.context.route(NEWS, answering(titles={}))  # the store no longer has the session
    loop = f"gone{next(numbers)}.a.1"
    with tabs.showing(LOOKS, in_front=in_front):
        with tabs.tabs[0].expect_response(NEWS):
            tabs.agent_does(ends("completed"), loop=loop)
        tabs.context.unroute(NEWS)
        titles = [note["title"] for note in tabs.notifications()]
    assert titles == ([] if in_front else [loop.partition(".")[0]])


def test_one_tab_follows_for_all_and_the_next_takes_over_without_repeating(tabs):
    first, second = tabs.tabs
    second.evaluate(LOCKED, "1 held, 1 wait")
    url = tabs.agent_does(*LINES["approval-requested"])
    assert [each["tag"] for each in tabs.notifications()] == [session_of(url)]
    with second.expect_response(CHANNEL):
        first.close()
    assert tabs.notifications() == []
    tabs.tabs = [second, tabs.tab(LOOKS)]


@pytest.mark.parametrize("instead", [{"status": 503}, {"body": "{", "content_type": "application/json"}])
def test_a_failed_request_for_notes_is_repeated_without_another_event(tabs, instead):
    answers = [instead]

    def answer(route):
        route.fulfill(**answers.pop()) if answers else route.continue_()

    tabs.context.route(NEWS, answer)
    place = session_of(tabs.agent_does(ends("failed")))
    assert [each["tag"] for each in tabs.worker.evaluate(HEARD, place)] == [place]
    tabs.context.unroute(NEWS)
    assert answers == []


def test_a_failed_registration_of_the_worker_is_tried_again(browser, server, signed_in):
    with another(browser, signed_in) as context:
        context.add_init_script(REFUSED_ONCE)
        page = context.new_page()
        with page.expect_response(CHANNEL):
            page.goto(server.url + LOOKS)


def test_an_approval_requested_while_no_tab_was_open_is_notified_later(tabs):
    for page in tabs.tabs:
        page.close()
    url = tabs.agent_does(*LINES["approval-requested"])
    tabs.agent_does(ends("failed"))  # no tab was open
    tabs.tabs = [tabs.tab(LOOKS, follows=True), tabs.tab(LOOKS)]
    assert [each["tag"] for each in tabs.notifications()] == [session_of(url)]


def test_a_lost_channel_is_tried_again_until_the_reader_has_signed_out(browser, server, signed_in):
    answers = [401, 503]
    with another(browser, signed_in) as context:
        context.route(CHANNEL, lambda route: route.fulfill(status=answers.pop(), body="{}"))
        page = context.new_page()
        with page.expect_response(lambda answer: answer.status == 401):
            page.goto(server.url + LOOKS)
        page.evaluate(LOCKED, "0 held, 0 wait")
    assert answers == []


def test_a_click_leads_to_the_loop_in_the_tab_that_shows_its_session(tabs):
    loop = f"click{next(numbers)}.a.1"
    url = tabs.agent_does(ends("completed"), loop=loop)
    assert [each["data"] for each in tabs.notifications()] == [url]  # before another replaces it
    with tabs.showing(url, in_front=False) as page:
        other = tabs.agent_does(ends("failed"), loop=loop.replace(".1", ".2"))
        assert [each["data"] for each in tabs.notifications()] == [other]
        assert tabs.worker.evaluate(CLICK, session_of(other)) == [None, tabs.server.url + url]
        page.wait_for_url(f"**{other}")


def test_a_click_opens_a_session_that_no_tab_shows(tabs):
    url = tabs.agent_does(ends("failed"))
    tabs.notifications()
    assert tabs.worker.evaluate(CLICK, session_of(url)) == [url, None]


def test_opening_a_session_removes_its_notification(tabs):
    url = tabs.agent_does(ends("failed"))
    tabs.notifications()
    assert tabs.worker.evaluate(COUNT, session_of(url)) == 1
    with tabs.showing(url, in_front=True):
        tabs.worker.evaluate(GONE, session_of(url))


def test_many_at_once_are_one_that_leads_to_the_attention_page(tabs):
    notes = [{"title": str(n), "says": "Failed", "url": f"/p/acme/sessions/{n}"} for n in range(1000, 1020)]
    tabs.tabs[0].evaluate(POST, notes)
    (note,) = tabs.worker.evaluate(HEARD, "/p/acme/attention")
    assert note["title"] == "20 sessions need a look"
    assert tabs.worker.evaluate(CLICK, "/p/acme/attention") == ["/p/acme/attention", None]


def test_a_switch_silences_its_row_and_brings_it_back(tabs):
    page = tabs.tabs[1]
    page.get_by_role("switch", name="Notify: A turn has finished", exact=True).focus()
    for checked in ("false", "true"):
        page.keyboard.press("Space")  # the focus is where it was
        page.locator(f'[id="notify-turn-finished-finish"][aria-checked="{checked}"]').wait_for()
        tabs.agent_does(ends("completed"))
        assert [each["body"] for each in tabs.notifications()] == (["Finished"] if checked == "true" else [])

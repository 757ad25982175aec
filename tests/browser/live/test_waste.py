"""The fourth repeat in a browser: on the attention page, in the badge and at the call, without a reload."""

import pytest
from playwright.sync_api import expect

from tests.browser.axe import COLOURS, RULES, serious
from tests.dashboard.repeated_calls import repeating
from tests.support import build

PHONE = {"width": 390, "height": 844}
NAME = "get_<b>all</b>"
MARK = "same call as in turn 1, result unchanged"


@pytest.fixture
def repeat(server):
    """Return a function that sends turns of a loop that repeats itself."""

    def repeat(loop, times, first=0):
        server.agent().send(
            *(build.line(event).decode() for event in repeating(loop, times, name=NAME, first=first))
        )

    return repeat


def test_the_fourth_repeat_appears_without_a_reload(window, server, repeat):
    repeat("live.a.1", 3)
    attention = window().open("/p/default/attention?kind=waste")
    session = window().open(server.session_url("live"))
    for page in (attention, session):
        page.locator("[data-connection=live]").wait_for()
        page.evaluate("() => (window.isSame = true)")
    expect(session.locator(".tool-waste")).to_have_count(2)
    row = attention.locator(".failures li", has_text="same call 4 times").filter(has_text="live")
    expect(row).to_have_count(0)

    repeat("live.a.1", 1, first=3)

    expect(row).to_have_count(1)
    expect(row.locator("code")).to_have_text(NAME)
    expect(session.locator(".tool-waste")).to_have_count(3)
    expect(session.locator("[data-attention]").first).to_have_text("1")
    assert attention.evaluate("() => window.isSame")
    assert session.evaluate("() => window.isSame")
    row.get_by_role("button", name="Mark as read").click()
    expect(row.get_by_role("button", name="Mark as read")).to_have_count(0)
    expect(session.locator("[data-attention]").first).to_be_hidden()

    row.locator("a").click()
    attention.wait_for_url("**?turn=4#session-tool-*")
    expect(attention.locator(".tool:target .tool-waste")).to_have_text(MARK)


def test_on_a_phone_and_on_a_desktop_axe_finds_nothing_and_nothing_scrolls_sideways(window, server, repeat):
    repeat("wide.a.1", 4)
    watched, session = window(viewport=PHONE, reduced_motion="reduce"), server.session_url("wide")
    for path in ("/p/default/attention", session, f"{session}?tab=timeline", f"{session}?tab=context"):
        page = watched.open(path)
        main = page.locator("main")
        marks = main.get_by_text("same call").or_(main.locator("[aria-label*='same call']"))
        expect(marks.first).to_be_attached()
        for width in (390, 1440):
            page.set_viewport_size({"width": width, "height": 900})
            for scheme, rules in (("light", RULES), ("dark", COLOURS)):
                page.emulate_media(color_scheme=scheme)
                assert serious(page, rules) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= width

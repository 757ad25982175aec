"""Keys that are pressed before a page can answer run no command, and text for a field reaches it."""

import re

import pytest

from tests.support import build
from tests.support.wait import until as wait_until

SEARCH = "#session-search input"


@pytest.fixture(scope="module")
def session(server):
    """Return the address of a recorded session."""
    server.agent().send(*build.small_loop("typed.a.1"))
    return server.read("/api/v1/sessions")["items"][0]["url"]


@pytest.fixture
def held(window, server):
    """Open a page and hold one script back: `held(path, script)` returns it and what lets the script go."""

    def held(path, script):
        watched = window(viewport={"width": 1440, "height": 900})
        waiting, gone = [], []

        def wait(route):
            if gone:  # a browser may ask again, as for a script that it had only preloaded
                route.continue_()
            else:
                waiting.append(route)

        watched.page.route(re.compile(script), wait)
        watched.page.goto(server.url + path, wait_until="commit")

        def let_go():
            gone.extend(waiting)
            for route in waiting:
                route.continue_()

        return watched.page, waiting, let_go

    return held


def until(page, condition):
    page.wait_for_function(f"() => {condition}")


KEYBOARD = """() => import(document.querySelector("script[src*='shell/keyboard']").src).then(() => true)"""
# All scripts of the page have arrived, except one and what it imports.
ALL_SCRIPTS = """document.querySelector("#session-search") && [...document.scripts].every(
  ({ src }) => /keyboard|SCRIPT/.test(src) || performance.getEntriesByName(src)[0]?.responseEnd
)"""
FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


def until_keys_are_read(page):
    until(page, "document.querySelector('#session-search')")
    page.evaluate(KEYBOARD)


def value(page, selector):
    return page.locator(selector).input_value()


def test_slash_in_a_session_opens_its_search_with_the_field_focused(window, server, session):
    watched = window(viewport={"width": 1440, "height": 900})
    page = watched.open(session)
    page.keyboard.type("/write e", delay=0)
    assert value(page, SEARCH) == "write e"
    assert page.url.endswith(session) or "/loops/" in page.url
    page.keyboard.press("Escape")
    assert not page.locator(SEARCH).is_visible()
    page.keyboard.press("/")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?q=write+e")
    assert watched.faults == []
    assert watched.violations() == []


def test_a_key_counts_as_soon_as_the_field_is_hidden(window, session):
    page = window(viewport={"width": 1440, "height": 900}).open(session)
    page.keyboard.press("/")
    assert page.locator(SEARCH).is_visible()
    page.evaluate("""() => {
        document.querySelector("#session-search").hidePopover();
        const slash = { key: "/", bubbles: true, cancelable: true };
        document.activeElement.dispatchEvent(new KeyboardEvent("keydown", slash));
    }""")
    assert page.locator(SEARCH).is_visible()


@pytest.mark.parametrize("script", ["keyboard", "typing_ahead"])
def test_a_page_is_live_only_after_it_reads_keys(held, session, script):
    page, waiting, let_go = held(session, rf"/shell/{script}\.")
    until(page, ALL_SCRIPTS.replace("SCRIPT", script))
    page.evaluate(FRAMES)
    assert waiting, "the script still loads"
    assert not page.locator("[data-connection=live]").is_visible()
    assert page.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventStart") == 0
    let_go()
    page.locator("[data-connection=live]").wait_for()
    page.keyboard.type("/write e", delay=0)
    assert value(page, SEARCH) == "write e"


def test_the_search_of_a_session_opens_without_scripts(window, server, session):
    page = window(java_script_enabled=False).page
    page.goto(server.url + session)
    page.get_by_role("button", name="Search in this session").click()
    page.locator(SEARCH).fill("write")
    page.locator(SEARCH).press("Enter")
    page.wait_for_url("**/search?q=write")


def test_while_a_page_loads_no_key_fires(held, session):
    page, waiting, let_go = held(session, r"/session/tree\.")
    until_keys_are_read(page)
    for key in "t5ew":
        page.keyboard.press(key)
    assert waiting, "the page still loads"
    let_go()
    page.locator("[data-connection=live]").wait_for()
    assert page.locator("html").get_attribute("data-theme") is None
    assert "tab=" not in page.url
    page.keyboard.press("t")
    assert page.locator("html").get_attribute("data-theme") == "dark"


def test_text_typed_for_the_search_while_a_page_loads_reaches_it(held, session):
    page, waiting, let_go = held(session, r"/session/tree\.")
    until_keys_are_read(page)
    page.keyboard.type("t/wex")
    page.keyboard.press("Backspace")
    assert waiting, "the page still loads"
    let_go()
    until(page, f"document.querySelector('{SEARCH}').value == 'we'")
    assert page.locator("html").get_attribute("data-theme") is None
    page.keyboard.type(" t")
    assert value(page, SEARCH) == "we t"


def test_enter_in_the_palette_opens_the_first_result_of_what_is_typed(window, session):
    """Not of what was typed before: it waits for the results."""
    page = window(viewport={"width": 1440, "height": 900}).open("/p/default/sessions")
    page.keyboard.press("Control+k")
    page.get_by_role("option", selected=True).wait_for()
    waiting = []

    def wait(route):
        waiting.append(route)

    page.route(re.compile(r"/find\?q=integrity"), wait)
    with page.expect_request(re.compile(r"/find\?q=integrity")):
        page.keyboard.type("integrity")
        page.keyboard.press("Enter")
    page.evaluate(FRAMES)
    assert page.url.endswith("/sessions")
    for route in waiting:
        route.continue_()
    page.wait_for_url("**/integrity")


def test_text_typed_for_the_palette_while_its_script_loads_reaches_it(held):
    page, waiting, let_go = held("/p/default/sessions", r"/shell/palette\.")
    page.locator("[data-connection=live]").wait_for()
    page.keyboard.press("Control+k")
    page.keyboard.type("to")
    assert waiting, "its script still loads"
    let_go()
    field = page.get_by_role("combobox", name="Search, or go anywhere")
    field.wait_for()
    until(page, "document.activeElement.value == 'to'")
    assert page.locator("html").get_attribute("data-theme") is None
    page.get_by_role("option", name=re.compile("Filter sessions by “to”")).wait_for()  # it is searched for


def test_while_a_page_is_left_no_key_fires(window):
    page = window().open("/p/default/sessions")
    routes = []

    def wait(route):
        routes.append(route)

    page.route("**/p/default/costs", wait)
    page.keyboard.press("g")
    page.keyboard.press("c")
    page.keyboard.press("t")
    wait_until(lambda: routes, pause=lambda seconds: page.wait_for_timeout(1000 * seconds))
    page.keyboard.press("t")
    routes[0].continue_()
    page.wait_for_url("**/costs")
    page.unroute_all()
    page.reload()  # a theme is a cookie, which the held request did not have
    assert page.locator("html").get_attribute("data-theme") is None

"""Loops are selected in the tree by mouse, touch and key, and compared."""

import re

import pytest

from tests.browser.axe import serious
from tests.support import build


@pytest.fixture(scope="module")
def url(server):
    """A session with five loops; return its address."""
    events = [build.small_loop(f"five.a.{n}", at=n) for n in range(5)]
    server.agent().send(*(build.line(event).decode() for loop in events for event in loop))
    return server.read("/api/v1/sessions")["items"][0]["url"]


def boxes(page):
    return page.locator("#loops [data-select]")


def status(page):
    return page.locator(".selection-bar [role=status]").inner_text()


def compared(page):
    return re.findall(r"of=(\d+)", page.url)


def test_loops_are_selected_by_mouse_and_by_key_and_a_fifth_is_refused(window, url):
    page = window().open(url)
    assert not page.get_by_role("button", name="Compare").is_visible()
    page.locator(".tree-row").nth(2).hover()
    boxes(page).nth(2).click()
    assert status(page) == "1 selected. Select another to compare."
    for n in (0, 1):
        boxes(page).nth(n).check()
    page.keyboard.press("j")  # the tree continues at the selected loop, the last one
    page.keyboard.press("k")
    page.keyboard.press("x")
    assert status(page) == "4 selected"
    order = [boxes(page).nth(n).input_value() for n in (2, 0, 1, 3)]
    boxes(page).nth(4).click()
    assert status(page) == "4 selected. At most 4 can be compared."

    page.keyboard.press("c")
    page.wait_for_url("**/compare?*")

    assert compared(page) == order
    assert page.locator("h1").inner_text() == "4 loops compared"
    assert serious(page) == []


def test_the_selection_outlives_live_updates(window, server, url):
    page = window().open(url)
    boxes(page).nth(0).check()
    server.agent().send(build.agent_start("five.a.9", at=9))
    page.locator(".tree-row[data-state=running]").wait_for()
    assert boxes(page).nth(0).is_checked()
    assert status(page).startswith("1 selected")
    page.keyboard.press("Escape")
    assert not boxes(page).nth(0).is_checked()


def test_a_touch_selects_and_compares_on_a_phone(window, url):
    page = window(viewport={"width": 390, "height": 844}, has_touch=True).open(url)
    page.locator("#loop").get_by_role("link", name="Loops").tap()
    page.wait_for_function("document.querySelector('#split').scrollLeft >= innerWidth - 1")
    for n in range(2):
        target = page.locator("#loops .row-select").nth(n)
        size = target.bounding_box()
        assert (size["width"], size["height"]) >= (44, 44)
        target.tap()
    assert status(page) == "2 selected"
    page.get_by_role("button", name="Compare").tap()
    page.wait_for_url("**/compare?*")
    assert page.locator(".record-comparison thead th").count() == 2
    assert serious(page) == []


def test_without_scripts_the_checkboxes_are_a_form(window, url):
    watched = window(java_script_enabled=False)
    page = watched.page
    page.goto(watched._server.url + url)
    values = [boxes(page).nth(n).input_value() for n in range(2)]
    for n in range(2):
        boxes(page).nth(n).check()
    page.get_by_role("button", name="Compare").click()
    assert compared(page) == values


def test_as_of_an_event_of_the_past_no_loop_can_be_selected(window, url):
    page = window().open(f"{url}/step?to=previous")
    assert page.locator(".selection-bar").count() == 0
    page.locator(".tree-row").first.hover()
    assert not boxes(page).first.is_visible()

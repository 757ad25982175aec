"""Sessions are selected by mouse, touch and key, on any page of the list, and compared."""

import json
import re
from pathlib import Path

import pytest

from tests.browser.axe import serious
from tests.support import build

NAMES = [f"compared-{n}" for n in range(60)]


@pytest.fixture(scope="module", autouse=True)
def sessions(server):
    """Sixty sessions, more than a page of the list holds; return their primary keys by name."""
    agent = server.agent()
    for n, name in enumerate(NAMES):
        agent.send(*(build.line(event).decode() for event in build.small_loop(f"{name}.a.1", at=n)))
    found, url = {}, "/api/v1/sessions?limit=100"
    for item in server.read(url)["items"]:
        found[item["session_id"]] = item["url"].rpartition("/")[2]
    return found


def status(page):
    return page.locator(".selection-bar [role=status]").inner_text()


def compared(page):
    return re.findall(r"of=(\d+)", page.url)


def box(page, n):
    return page.locator("[data-select]").nth(n)


def test_rows_are_selected_by_mouse_and_by_key_and_four_are_compared(window):
    page = window().open("/p/default/sessions")
    assert not page.get_by_role("button", name="Compare").is_visible()
    box(page, 2).check()
    assert status(page) == "1 selected. Select another to compare."
    assert page.get_by_role("button", name="Compare").is_disabled()
    page.keyboard.press("j")  # from the checkbox to the next row
    page.keyboard.press("x")
    box(page, 0).check()
    box(page, 1).check()
    assert status(page) == "4 selected"
    box(page, 7).click()
    assert status(page) == "5 selected. At most 4 can be compared."
    assert page.get_by_role("button", name="Compare").is_disabled()
    page.keyboard.press("x")
    assert status(page) == "4 selected"
    order = [box(page, n).input_value() for n in (2, 3, 0, 1)]

    page.keyboard.press("c")
    page.wait_for_url("**/sessions/compare?*")

    assert compared(page) == order
    assert page.locator("h1").inner_text() == "4 sessions compared"
    assert serious(page) == []


def test_shift_selects_a_range_by_mouse_and_by_key(window):
    page = window().open("/p/default/sessions")
    box(page, 1).click()
    box(page, 5).click(modifiers=["Shift"])
    assert status(page).startswith("5 selected")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Shift+X")
    assert status(page).startswith("8 selected")
    assert [box(page, n).is_checked() for n in range(10)] == [False, *[True] * 8, False]
    page.get_by_role("button", name="Clear").click()
    assert status(page) == ""


def test_selected_sessions_of_two_pages_are_exported_as_one_file(window, sessions):
    page = window().open("/p/default/sessions")
    box(page, 0).check()
    page.get_by_role("link", name="Next").click()
    page.locator("[data-connection=live]").wait_for()
    box(page, 2).check()
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    lines = [json.loads(line) for line in Path(download.value.path()).read_text().splitlines()]
    names = {line["session"]["session_id"] for line in lines if "session" in line}

    assert len(names) == 2
    assert {line["event"]["loop_id"].partition(".")[0] for line in lines if "event" in line} == names
    assert status(page).startswith("2 selected")


def test_x_in_a_field_selects_nothing_and_escape_clears(window):
    page = window().open("/p/default/sessions")
    page.locator("[data-row]").first.focus()
    page.keyboard.press("x")
    assert status(page).startswith("1 selected")
    page.keyboard.press("/")
    page.keyboard.type("x")
    assert status(page).startswith("1 selected")
    assert page.locator(".filters [type=search]").input_value() == "x"
    page.locator("[data-row]").first.focus()
    page.keyboard.press("Escape")
    assert (status(page), page.locator("[data-select]:checked").count()) == ("", 0)


def test_the_selection_outlives_paging_and_live_updates(window, server, sessions):
    page = window().open("/p/default/sessions")
    first = box(page, 0).input_value()
    box(page, 0).check()
    page.get_by_role("link", name="Next").click()
    page.locator("[data-connection=live]").wait_for()
    assert status(page).startswith("1 selected")
    last = box(page, 1).input_value()
    box(page, 1).check()
    name = next(name for name, pk in sessions.items() if pk == last)
    row = page.locator(".session-row", has=page.locator(f"[data-select][value='{last}']"))
    server.agent().send(build.agent_start(f"{name}.a.2", at=2))
    page.locator(f"#{row.get_attribute('id')}[data-state=running]").wait_for()
    assert page.locator(f"[data-select][value='{last}']").is_checked()
    assert status(page) == "2 selected"

    page.get_by_role("button", name="Compare").click()
    page.wait_for_url("**/sessions/compare?*")
    assert compared(page) == [first, last]
    page.go_back()
    page.locator(f"[data-select][value='{last}']:checked").wait_for()
    page.get_by_role("button", name="Clear").click()
    assert page.locator("[data-select]:checked").count() == 0
    assert page.evaluate("document.activeElement.matches('[data-select]')")


def test_a_touch_of_44_pixels_selects_and_the_bar_stays_at_the_bottom(window):
    page = window(viewport={"width": 390, "height": 844}, has_touch=True).open("/p/default/sessions")
    for n in range(2):
        target = page.locator(".row-select").nth(n)
        size = target.bounding_box()
        assert (size["width"], size["height"]) >= (44, 44)
        page.touchscreen.tap(size["x"] + 4, size["y"] + size["height"] - 4)  # a corner
    assert status(page) == "2 selected"
    bar = page.locator(".selection-bar").bounding_box()
    assert 844 - 24 <= bar["y"] + bar["height"] <= 844
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    buttons = page.locator(".selection-bar .button").all()
    assert buttons
    assert all(button.bounding_box()["height"] >= 44 for button in buttons)

    page.get_by_role("button", name="Compare").tap()
    page.wait_for_url("**/sessions/compare?*")
    assert page.locator(".record-comparison thead th").count() == 2
    assert serious(page) == []


def test_without_scripts_the_checkboxes_are_a_form(window):
    watched = window(java_script_enabled=False)
    page = watched.page
    page.goto(watched._server.url + "/p/default/sessions")
    values = [box(page, n).input_value() for n in range(5)]
    for n in range(2):
        box(page, n).check()
    page.get_by_role("button", name="Compare").click()
    assert compared(page) == values[:2]
    assert page.locator("h1").inner_text() == "2 sessions compared"
    page.go_back()
    for n in range(5):
        box(page, n).check()
    page.get_by_role("button", name="Compare").click()
    assert "Two to four sessions can be compared: 5 are selected." in page.locator("main").inner_text()

"""The query box of the leaderboard: chips beside a filter, completion by keyboard, phone, no scripts."""

import re

import pytest

from tests.browser.axe import serious
from tests.browser.sessions.test_query_box import chips, query_of

ADDRESS = "/p/default/leaderboard?q=status:completed&agent=coder"


def field(page):
    return page.get_by_label("Search evaluations")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_chips_are_beside_the_filters_and_are_removed_alone(window, theme):
    page = window(color_scheme=theme).open(ADDRESS)
    assert chips(page)[-1] == "status:completed"
    assert page.get_by_label("Remove agent coder").count() == 1
    assert serious(page) == []
    with page.expect_navigation():
        page.get_by_role("button", name="Remove status:completed").click()
    assert query_of(page) == ""
    assert "agent=coder" in page.url


def test_keys_and_values_are_completed_by_keyboard(window):
    page = window().open("/p/default/leaderboard")
    box = field(page)
    box.press_sequentially("evaluation:")
    with page.expect_response(
        re.compile(r"/complete\?.*ju")
    ):  # the last list: an earlier one loses the choice
        box.press_sequentially("ju")
    page.get_by_role("option").first.wait_for()
    box.press("ArrowDown")
    box.press("Enter")
    assert chips(page) == ["evaluation:judged"]
    with page.expect_navigation():
        box.press("Enter")
    assert query_of(page) == "evaluation:judged"


def test_the_box_fits_on_a_phone_and_works_without_scripts(window, server):
    page = window(viewport={"width": 390, "height": 844}).open(ADDRESS)
    wide, inner = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide <= inner
    page = window(java_script_enabled=False).page
    page.goto(f"{server.url}/p/default/leaderboard?agent=coder")
    field(page).fill("loops:>1")
    with page.expect_navigation():
        field(page).press("Enter")
    assert query_of(page) == "loops:>1"
    assert "agent=coder" in page.url

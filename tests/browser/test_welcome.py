"""The welcome page: create a token, run the shown program, its session opens without a reload."""

import re
import subprocess
import sys

import pytest
from playwright.sync_api import expect

from tests.support.wait import LONGEST_S

RUNNERS = {"Python": [sys.executable, "-"], "curl": ["sh", "-s"], "WebSocket": [sys.executable, "-"]}
ANSWERS = {"Python": "Hello.", "curl": "Hello.", "WebSocket": "Hello, this arrives word by word."}


@pytest.fixture
def project(server, request):
    """A project in which nothing has been recorded."""
    slug = f"first-{request.node.callspec.id.lower()}"
    server.manage("project", "create", slug)
    return slug


@pytest.mark.parametrize("way", RUNNERS)
def test_a_program_runs_as_it_is_shown_and_its_session_opens_by_itself(window, project, way):
    page = window().open(f"/p/{project}/welcome")
    page.get_by_role("button", name="Create token").click()
    page.get_by_text("Shown once").wait_for()
    page.locator("[data-connection=live]").wait_for()
    page.get_by_role("radio", name=way).check(force=True)
    program = page.locator(".snippet code:visible").inner_text()

    done = subprocess.run(
        RUNNERS[way], input=program, capture_output=True, text=True, timeout=LONGEST_S, check=False
    )

    assert done.returncode == 0, done.stderr
    assert "upto" in done.stdout
    page.wait_for_url(re.compile(rf"/p/{project}/sessions/\d+"))
    expect(page.get_by_text(ANSWERS[way]).first).to_be_visible()


def test_what_is_copied_is_what_is_shown(window):
    watched = window(permissions=["clipboard-read", "clipboard-write"])
    page = watched.open("/p/default/welcome")
    shown = page.locator(".snippet code:visible").inner_text()
    page.locator(".snippet:visible").get_by_role("button", name="Copy").click()

    expect(page.locator(".snippet:visible").get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()").strip() == shown.strip()


def test_theme_and_navigation_change_at_once_and_stay(window):
    page = window(color_scheme="light").open("/p/default/settings")
    with page.expect_response("**/theme"):
        page.get_by_role("button", name="Theme").click()
    assert page.get_attribute("html", "data-theme") == "dark"
    with page.expect_response("**/theme"):
        page.get_by_role("button", name="Collapse or expand").click()
    page.reload()

    assert page.get_attribute("html", "data-theme") == "dark"
    assert page.get_attribute("html", "data-nav") == "rail"
    expect(page.get_by_role("link", name="Sessions")).to_be_visible()


def test_the_menu_of_a_phone_has_the_items_missing_in_the_bar(window):
    page = window(viewport={"width": 390, "height": 844}).open("/p/default/settings")
    expect(page.get_by_role("button", name="Sign out")).to_be_hidden()
    page.get_by_role("button", name="Menu").click()

    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    expect(page.get_by_text("Live now")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Sign out")).to_be_hidden()

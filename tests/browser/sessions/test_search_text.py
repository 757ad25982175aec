"""The search by keyboard: hits, numbers of facets, recent queries."""

import pytest
from playwright.sync_api import expect

from tests.support import build
from tests.support.wait import until


@pytest.fixture(scope="module")
def recorded(server):
    server.agent().send(*(build.line(event).decode() for event in build.small_loop("found.a.1")))
    until(lambda: server.read("/api/v1/search?q=parser")["items"], "the session is not found")


@pytest.mark.usefixtures("recorded")
def test_keys_lead_from_the_box_through_the_hits_to_a_turn(window):
    watched = window()
    page = watched.open("/p/default/search")
    page.keyboard.press("/")
    expect(page.get_by_role("combobox", name="Search all recorded text")).to_be_focused()
    page.keyboard.type("parser")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?q=parser")
    hits = page.locator(".search-hit")
    expect(page.locator(".search-hit mark").first).to_have_text("parser")
    expect(page.locator("#search-facets .number").first).to_be_visible()  # they follow after the results
    page.locator("[data-connection=live]").wait_for()
    page.keyboard.press("j")
    expect(hits.first).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url("**/loops/**")
    page.go_back()
    expect(hits.first).to_be_visible()
    assert watched.faults == []


@pytest.mark.usefixtures("recorded")
def test_this_browser_lists_its_recent_queries_the_newest_first(window):
    watched = window()
    for query in ("parser", "<b>x", "parser"):
        watched.open(f"/p/default/search?q={query}")
    page = watched.open("/p/default/search")
    recent = page.locator(".search-recent a")
    expect(recent).to_have_text(["parser", "<b>x"])
    recent.first.click()
    page.wait_for_url("**/search?q=parser")
    assert watched.faults == []

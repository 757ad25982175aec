"""Every page in a browser: at every width, without scripts, and with hostile text."""

import pytest

from tests.browser.pages import PAGES, open_page

WIDTHS = (390, 768, 1024, 1440)


@pytest.mark.parametrize("name", PAGES)
def test_text_from_events_runs_no_code(window, addresses, name):
    watched, page = open_page(window, addresses, name)
    for summary in page.locator("summary").all():
        if summary.is_visible():
            summary.press("Enter")  # the menu of another one may cover it
    page.wait_for_load_state("networkidle")
    assert page.evaluate("window.__pwned") is None
    assert watched.faults == []
    assert watched.violations() == []
    assert page.locator("#main, main").count() == 1


@pytest.mark.parametrize("name", PAGES)
def test_no_page_scrolls_sideways(window, addresses, name):
    """Only branches side by side may be wider than the window: they scroll with the page."""
    _, page = open_page(window, addresses, name)
    page.evaluate("document.querySelectorAll('.comparison').forEach((table) => table.remove())")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        wide, inner = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert wide <= inner, width


def test_on_a_phone_an_address_that_names_a_view_opens_at_the_loop(window, addresses):
    page = window(viewport={"width": 390, "height": 844}).open(addresses["json"])
    for shown in (page.locator("#loop-scroll"), page.get_by_role("link", name="JSON")):
        box = shown.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 391


def test_on_a_phone_every_page_is_reachable(window, addresses):
    page = window(viewport={"width": 390, "height": 844}).open(addresses["integrity"])
    for link in page.get_by_role("navigation", name="Main").locator(".nav-pages a").all():
        box = link.bounding_box()
        assert box["width"] >= 24
        assert box["x"] >= 0
        assert page.evaluate(
            "([x, y]) => Boolean(document.elementFromPoint(x, y).closest('.nav-pages a'))",
            [box["x"] + box["width"] - 2, box["y"] + 20],
        )


def test_clipped_text_has_its_full_text_as_title(window, addresses):
    page = window(viewport={"width": 1024, "height": 844}).open(addresses["events"])
    cut = page.locator(".event-summary.clip").first
    assert cut.evaluate("(cell) => cell.scrollWidth > cell.clientWidth")
    cut.hover()
    assert cut.get_attribute("title") == cut.inner_text()


def test_no_row_of_the_tree_overflows(window, addresses):
    _, page = open_page(window, addresses, "session")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        over = page.locator(".tree-row").evaluate_all(
            "rows => rows.flatMap(row => [...row.querySelectorAll(':scope > * > :not(.visually-hidden)')]"
            ".filter(each => each.getBoundingClientRect().right > row.getBoundingClientRect().right + 0.5)"
            ".map(each => each.outerHTML))"
        )
        assert over == [], width


@pytest.mark.parametrize("name", PAGES)
def test_a_page_reads_well_without_scripts(window, addresses, name):
    state = {"state": None} if name == "signin" else {}
    watched = window(**state, java_script_enabled=False)
    watched.page.goto(watched._server.url + addresses[name])
    assert len(watched.page.locator("main").inner_text().split()) > 5
    assert watched.page.locator("h1").count() == 1

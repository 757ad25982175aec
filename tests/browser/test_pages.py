"""Every page in a browser: at every width, in both themes, without scripts, and with hostile text."""

from urllib.request import Request, urlopen

import pytest

from dashboard.pages.registry import PAGES as REGISTERED
from tests.browser.axe import COLOURS, RULES, serious
from tests.support.wait import LONGEST_S

WIDTHS = (390, 768, 1024, 1440)
PHONE = {"width": 390, "height": 844}
REMOVE_BRANCHES = """() => {
  const tables = [...document.querySelectorAll(".comparison")];
  tables.forEach((table) => table.remove());
  return tables.length;
}"""


def test_own_scripts_of_a_page_take_at_most_12_kb_gzipped(opened, name):
    loaded = opened.page.evaluate("performance.getEntriesByType('resource').map((each) => each.name)")
    scripts = [Request(url, headers={"Accept-Encoding": "gzip"}) for url in loaded if "/static/js/" in url]
    assert len(scripts) > 3 or name in ("signin", "missing")
    assert sum(len(urlopen(script).read()) for script in scripts) <= 12_000


def test_no_page_scrolls_sideways(opened):
    """Only branches side by side may be wider than the window: from a tablet on they scroll with the page."""
    were_removed = False
    for width in WIDTHS:
        opened.page.set_viewport_size({"width": width, "height": 900})
        if width > PHONE["width"]:
            were_removed = bool(opened.page.evaluate(REMOVE_BRANCHES)) or were_removed
        wide, inner = opened.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert wide <= inner, width
    if were_removed:
        opened.open(opened.page.url)


def test_axe_finds_nothing_serious(opened):
    """In both themes, on a phone and on a desktop."""
    opened.page.emulate_media(reduced_motion="reduce")
    found = []
    for width in (390, 1440):
        opened.page.set_viewport_size({"width": width, "height": 900})
        for scheme, rules in (("light", RULES), ("dark", COLOURS)):
            opened.page.emulate_media(color_scheme=scheme)
            found += [f"{width} {scheme} {each}" for each in serious(opened.page, rules)]
    assert found == []


def test_text_from_events_runs_no_code(opened):
    """The last one of a page: it opens whatever can be opened, and sees what the others caused."""
    page = opened.page
    opened.resume()
    for summary in page.locator("summary").all():
        if summary.is_visible():
            summary.press("Enter")  # the menu of another one may cover it
    page.wait_for_load_state("networkidle")
    assert page.evaluate("window.__pwned") is None
    assert opened.faults == []
    assert opened.violations() == []
    assert page.locator("#main, main").count() == 1


def test_a_menu_that_loads_its_script_later_leaves_the_clock_of_the_page_alone(window, addresses):
    """A second clock with another time would answer every change of the first one, for ever."""
    page = window().open(addresses["sessions"])
    page.evaluate("document.body.dataset.now = '2019-11-04T14:02:24Z'")  # read when a clock starts
    page.locator("summary", has_text="Custom").click()
    page.wait_for_load_state("networkidle")
    page.wait_for_function("document.querySelector('time[data-when], time[data-start]')")  # it still answers
    loaded = page.evaluate("performance.getEntriesByType('resource').map((each) => each.name)")
    for script in ("live/times", "shell/time_range"):
        assert sum(f"/js/{script}." in name for name in loaded) == 1


@pytest.mark.parametrize("name", ["tree", "json"])
def test_on_a_phone_a_session_opens_at_its_loop_and_the_tree_is_one_tap_away(window, addresses, name):
    page = window(viewport=PHONE, has_touch=True).open(addresses[name])
    assert is_in_view(page, "#loop-scroll")
    assert not is_in_view(page, "#loops")
    page.locator("#loop").get_by_role("link", name="Loops").tap()
    page.wait_for_function("document.querySelector('#split').scrollLeft >= innerWidth - 1")
    assert is_in_view(page, "#loops")
    page.locator("#loops").get_by_role("link", name="Conversation").tap()
    page.wait_for_function("document.querySelector('#split').scrollLeft === 0")
    assert is_in_view(page, "#loop-scroll")
    if name == "json":
        assert is_in_view(page, ".loop-nav [aria-current]")


def is_in_view(page, selector):
    """Return whether an element lies within the width of the window."""
    box = page.locator(selector).bounding_box()
    return box["x"] >= 0 and box["x"] + box["width"] <= page.viewport_size["width"] + 1


def test_on_a_phone_the_menu_names_every_page(window, addresses):
    page = window(viewport=PHONE).open(addresses["integrity"])
    navigation = page.get_by_role("navigation", name="Main")
    assert not navigation.locator("a", has_text="Costs").is_visible()
    navigation.get_by_role("button", name="Menu").click()
    links = navigation.locator("#nav-menu a").all()
    assert {link.inner_text().split("\n")[0] for link in links} >= {
        each.link.title for each in REGISTERED if each.link
    }
    for link in links:
        link.scroll_into_view_if_needed()
        box = link.bounding_box()
        assert box["height"] >= 40
        assert page.evaluate(
            "([x, y]) => Boolean(document.elementFromPoint(x, y).closest('#nav-menu a'))",
            [box["x"] + box["width"] - 2, box["y"] + 20],
        )
    page.keyboard.press("Escape")
    assert not page.locator("#nav-menu").is_visible()
    assert page.evaluate("document.activeElement.getAttribute('popovertarget')") == "nav-menu"


def test_clipped_text_has_its_full_text_as_title(window, addresses):
    page = window(viewport={"width": 1024, "height": 844}).open(addresses["events"])
    cut = page.locator(".event-summary.clip").first
    assert cut.evaluate("(cell) => cell.scrollWidth > cell.clientWidth")
    cut.hover()
    assert cut.get_attribute("title") == cut.inner_text()


def test_what_leads_through_a_page_is_not_printed(window, addresses):
    page = window().open(addresses["context"])
    page.emulate_media(media="print")
    assert not page.get_by_role("navigation", name="Main").is_visible()
    assert not page.locator(".skip-link").is_visible()  # it would stand on every sheet


def test_no_row_of_the_tree_overflows(window, addresses):
    page = window().open(addresses["session"])
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        over = page.locator(".tree-row").evaluate_all(
            "rows => rows.flatMap(row => [...row.querySelectorAll(':scope > * > :not(.visually-hidden)')]"
            ".filter(each => each.getBoundingClientRect().right > row.getBoundingClientRect().right + 0.5)"
            ".map(each => each.outerHTML))"
        )
        assert over == [], width


@pytest.fixture(scope="module")
def pages_without_scripts(browser, server, signed_in):
    """Return a page with a session and one without, both without scripts."""
    contexts = [
        browser.new_context(storage_state=state, java_script_enabled=False) for state in (signed_in, None)
    ]
    for context in contexts:
        context.set_default_timeout(1000 * LONGEST_S)
    yield [context.new_page() for context in contexts]
    for context in contexts:
        context.close()


def test_a_page_reads_well_without_scripts(pages_without_scripts, server, addresses, name):
    page = pages_without_scripts[name == "signin"]
    page.goto(server.url + addresses[name])
    assert len(page.locator("main").inner_text().split()) > 5
    assert page.locator("h1").count() == 1

"""A session saved as a file: opened from disk it runs and loads nothing, and everybody can read it."""

import pytest

from tests.browser.axe import COLOURS, RULES, serious
from tests.browser.pages import HOSTILE


@pytest.fixture
def saved(window, addresses, tmp_path):
    """Save the hostile session by the menu of its page; return the window and the file's address."""
    watched = window()
    page = watched.open(addresses["session"])
    page.locator("summary[title=Download]").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="HTML, one file to read").click()
    file = tmp_path / "session.html"
    download.value.save_as(file)
    watched.faults.clear()
    return watched, file.as_uri()


def test_it_runs_and_loads_nothing(saved):
    watched, address = saved
    requested = []
    watched.page.on("request", lambda request: requested.append(request.url))

    page = watched.page
    page.goto(address)
    for summary in page.locator("summary").all():
        if summary.is_visible():
            summary.press("Enter")

    assert page.evaluate("window.__pwned") is None
    assert [each for each in requested if not each.startswith(("file:", "data:"))] == []
    assert page.locator("h1").inner_text().startswith("session")
    assert HOSTILE in page.locator("header").inner_text()


def test_axe_finds_nothing_serious_and_no_width_scrolls_sideways(saved):
    watched, address = saved
    page = watched.page
    page.goto(address)
    for summary in page.locator(".file-fold > summary").all():
        summary.press("Enter")
    found = []
    for width in (390, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        wide, inner = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert wide <= inner, width
        for scheme, rules in (("light", RULES), ("dark", COLOURS)):
            page.emulate_media(color_scheme=scheme)
            found += [f"{width} {scheme} {each}" for each in serious(page, rules)]
    assert found == []

"""Every page is registered, and has its folder, templates, tests, URL and keys."""

import re

from django.urls import reverse

from dashboard.pages.registry import LIVE_PAGES, PAGES
from tests.architecture.tree import FILES, ROOT
from tests.browser import pages as browser_pages


def folders(path: str) -> set[str]:
    """Return the folders in `path` that have tracked files."""
    inside = ROOT / path
    return {file.relative_to(inside).parts[0] for file in FILES if file.is_relative_to(inside)} - {
        file.name for file in FILES if file.parent == inside
    }


def test_every_page_is_registered_with_its_folder_templates_and_tests():
    names = {page.name for page in PAGES}

    assert folders("dashboard/pages") == names | {"account"}  # which no project has
    assert names - {"demo"} <= folders("templates")  # the demo only redirects
    assert names <= folders("tests/dashboard/pages")
    assert names - {"demo"} <= set(browser_pages.PAGES)


def test_every_page_has_a_url_and_keys_and_sockets_are_unique():
    keys = [page.link.key for page in PAGES if page.link and page.link.key]
    fixed = re.findall(r'\["Everywhere", "([^"]+)"', (ROOT / "static/js/shell/keys.js").read_text())
    live = [name for page in PAGES for name in page.live]

    assert [page.name for page in PAGES if page.link and not reverse(page.name, args=["a"])] == []
    assert len({*keys, *fixed}) == len(keys) + len(fixed) > 8
    assert len(set(live)) == len(live) == len(LIVE_PAGES)

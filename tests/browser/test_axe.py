"""No page has serious accessibility violations, in both themes, on a phone and on a desktop."""

import pytest

from tests.browser.axe import COLOURS, RULES, serious
from tests.browser.pages import PAGES


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_serious(look, name):
    _, page = look(name, reduced_motion="reduce")
    found = []
    for width in (390, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        for scheme, rules in (("light", RULES), ("dark", COLOURS)):
            page.emulate_media(color_scheme=scheme)
            found += [f"{width} {scheme} {each}" for each in serious(page, rules)]
    assert found == []

"""An open costs page: a push equals a reload."""

import pytest

from dashboard.pages.costs import live
from dashboard.pages.costs.params import CostsParams
from recorder.pubsub.invalidation import Invalidation
from tests.dashboard.open_page import in_thread
from tests.dashboard.pages.costs.conftest import config, loop


@pytest.mark.parametrize("query", ["", "&q=loops:1+-model:other", "&q=-is:mine"])
async def test_what_is_pushed_is_what_a_reload_shows(query, place, open_page, monkeypatch, now):
    monkeypatch.setattr(live, "FIGURES_MS", 0)
    live.figures_panel.cache_clear()
    qwen = config("qwen", "local", "open_ai_completions")
    await in_thread(place.feed, *loop(), *loop("t.a.1", snapshot=qwen))  # menus are not live
    page = await open_page(f"/p/default-project/costs?by=model{query}")

    await in_thread(place.feed, *loop("u.a.1", snapshot=qwen))
    await page.agree()

    assert "costs-figures-" in " ".join(page.shown.pushed)
    assert "costs-prices-" in " ".join(page.shown.pushed)
    live.figures_panel.cache_clear()


@pytest.mark.parametrize(("field", "always"), [("noted", False), ("sessions", False), ("deleted", True)])
def test_what_changes_the_sessions_of_a_query_changes_the_figures(field, always):
    touched = Invalidation(1, **{field: {3}})
    for q, expected in (("", always), ("bookmark:true", True)):
        dirty = [panel.name for panel, _ in live.CostsPage(1, CostsParams(q=q)).dirty_panels(touched)]
        assert ("costs/figures" in dirty) is expected

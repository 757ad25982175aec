"""An open costs page: a push equals a reload."""

from dashboard.pages.costs import live
from tests.dashboard.open_page import in_thread
from tests.dashboard.pages.costs.conftest import config, loop


async def test_what_is_pushed_is_what_a_reload_shows(place, open_page, monkeypatch, now):
    monkeypatch.setattr(live, "FIGURES_MS", 0)
    live.figures_panel.cache_clear()
    await in_thread(place.feed, *loop())
    page = await open_page("/p/default-project/costs?by=model")

    await in_thread(place.feed, *loop("t.a.1", snapshot=config("qwen", "local", "open_ai_completions")))
    await page.agree()

    assert "costs-figures-" in " ".join(page.shown.pushed)
    assert "costs-prices-" in " ".join(page.shown.pushed)
    live.figures_panel.cache_clear()

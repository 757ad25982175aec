"""The costs page in a browser: its readout by keyboard and pointer, a price set in another window."""

import re
from datetime import UTC, datetime

import pytest

from tests.support import build

MODEL = "home-grown-7b"


@pytest.fixture(scope="module")
def spending(server):
    """Calls of a model without a price, a moment ago."""
    now = datetime.now(UTC).isoformat()
    usage = {"input": 2_000_000, "output": 1_000}
    message = {"role": "assistant", "content": [], "model": MODEL, "provider": "local", "usage": usage}
    config = {"model": MODEL, "provider": "local", "api": "open_ai_completions"}
    priced = {"model": "claude-haiku-4-5", "provider": "anthropic", "api": "anthropic_messages"}
    server.agent().send(
        build.agent_start("costs.1", timestamp=now, config_snapshot=config),
        build.turn_end("costs.1", timestamp=now, message=message, usage=usage),
        build.agent_end("costs.1", timestamp=now, usage=usage),
        build.agent_start("costs.2", timestamp=now, config_snapshot=priced),
        build.turn_end("costs.2", timestamp=now, message={**message, **priced}, usage=usage),
        build.agent_end("costs.2", timestamp=now, usage=usage),
    )


@pytest.mark.parametrize("has_scripts", [True, False])
def test_keys_and_pointer_move_the_readout(window, server, spending, has_scripts):
    watched = window(java_script_enabled=has_scripts, viewport={"width": 1200, "height": 900})
    watched.page.goto(f"{server.url}/p/default/costs?since=7d")
    bars = watched.page.locator(".chart-bar")
    readouts = bars.locator(".chart-readout")

    watched.page.locator(".whole-period input").focus()
    watched.page.keyboard.press("ArrowRight")
    assert [readouts.nth(n).is_visible() for n in range(7)] == [True] + [False] * 6
    watched.page.keyboard.press("ArrowLeft")
    watched.page.keyboard.press("ArrowLeft")
    assert readouts.nth(6).is_visible()
    assert "$2.0" in readouts.nth(6).inner_text()

    bars.nth(3).hover()
    assert [readouts.nth(n).is_visible() for n in range(7)] == [n == 3 for n in range(7)]


def test_a_readout_hides_the_one_below_it(window, spending):
    page = window(viewport={"width": 1200, "height": 900}).open("/p/default/costs?since=7d")
    page.locator(".chart-bar").nth(3).hover()
    place = page.locator(".chart-bar").nth(3).locator(".chart-readout").bounding_box()
    before = page.screenshot(clip=place)

    page.locator(".chart-box > .chart-readout").evaluate("each => { each.style.visibility = 'hidden'; }")

    assert page.screenshot(clip=place) == before


def test_a_price_set_in_one_window_shows_in_another(window, spending):
    other = window().open("/p/default/costs")
    page = window().open("/p/default/costs")
    note = page.locator(".price-note", has_text=MODEL)
    note.get_by_label(f"Input of {MODEL}").fill("0.15")
    note.get_by_label(f"Output of {MODEL}").fill("0.60")
    note.get_by_role("button", name="Set price").click()
    page.wait_for_url(re.compile("#prices$"))

    other.get_by_role("cell", name="override by").wait_for()
    page.locator("#reprice-form button").click()

    other.get_by_text("have a new cost").or_(other.get_by_text("has a new cost")).wait_for()
    page.reload()
    assert page.locator(".price-note", has_text=MODEL).count() == 0

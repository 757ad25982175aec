"""The flame graph in a browser: arrow keys, the readout, and zoom without scripts."""

import json

from tests.browser.pages import TAPE


def recorded(server):
    """Return the address of the flame graph of a session with sub-agents."""
    path = TAPE.parent / "phi-core" / "05-sub-agents.events.jsonl"
    lines = path.read_text().splitlines()
    server.agent().send(*lines)
    first = json.loads(lines[0])["session_id"]
    session = next(each for each in server.read("/api/v1/sessions")["items"] if each["session_id"] == first)
    return f"{server.url}{session['url']}/flame?by=tokens"


def test_arrow_keys_move_and_enter_enlarges(window, server):
    page = window().open(recorded(server))
    readout = page.locator("[data-flame-readout]")
    assert page.locator(".flame a[tabindex='0']").count() == 1
    page.locator(".flame a").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    focused = page.locator(".flame a:focus")
    assert focused.get_attribute("aria-label").startswith("Turn 1: ")
    assert readout.inner_text().startswith("Turn 1: ")
    page.locator(".flame a").first.hover()
    page.evaluate("dispatchEvent(new CustomEvent('live:frame'))")
    assert readout.inner_text().startswith("Session: ")
    page.keyboard.press("ArrowUp")
    assert focused.get_attribute("data-depth") == "1"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**node=**")
    assert page.locator(".flame a").first.get_attribute("aria-label").startswith("Turn 1: ")


def test_it_is_enlarged_without_scripts_on_a_phone(window, server):
    page = window(java_script_enabled=False, viewport={"width": 390, "height": 844}).page
    page.goto(recorded(server))  # it never gets live
    page.locator(".flame a[data-depth='2']").first.click()
    page.wait_for_url("**node=**")
    assert page.locator(".flame a").first.get_attribute("aria-label").startswith("Turn 1: ")

"""Settings by keyboard alone: Tab reaches each control, in a window and on a phone; each does its work."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.slow
PAGES = (
    *("/p/default/settings", "/p/default/settings/members", "/p/default/settings/masking"),
    *("/p/default/settings/audit", "/p/default/share", "/p/default/settings/delete", "/p/default/views"),
    *("/account", "/users"),
)
# Numbers the controls that a pointer reaches; of a group of radio buttons Tab stops at one.
NUMBER = """() => {
  const main = document.querySelector("main");
  const all = main.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary");
  const shown = [...all].filter((each) => each.checkVisibility({visibilityProperty: true}) && !each.disabled
    && !(each.type === "radio" && !each.checked
      && [...all].some((other) => other.name === each.name && other.checked)));
  shown.forEach((each, number) => each.dataset.number = number);
  main.tabIndex = -1;
  main.focus();
  return shown.map((each) => each.outerHTML.slice(0, 120));
}"""
FOCUSED = """() => {
  const at = document.activeElement;
  // The ring of a search box is around its icon, too.
  const style = getComputedStyle(at.closest(".search") ?? at);
  const ring = style.outlineStyle !== "none" || style.boxShadow !== "none";
  const [number, html] = [at.dataset.number ?? null, at.outerHTML.slice(0, 120)];
  return {number, ring, inside: !!at.closest("main"), html};
}"""


def reached(page):
    """Press Tab from the start of the page to its end; return what is focused at each stop."""
    stops = []
    while True:
        page.keyboard.press("Tab")
        stop = page.evaluate(FOCUSED)
        if not stop["inside"]:
            return stops
        stops.append(stop)
        assert len(stops) < 500, "the focus does not leave the page"


def tab_to(page, locator):
    """Press Tab until a control has the focus."""
    for _ in range(200):
        if locator.evaluate("each => each === document.activeElement"):
            return
        page.keyboard.press("Tab")
    pytest.fail(f"Tab does not reach {locator}")


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("path", PAGES)
def test_tab_reaches_each_control_and_shows_where_it_is(shared_window, path, width):
    shared_window.renew()
    shared_window.page.set_viewport_size({"width": width, "height": 900})
    shared_window.page.emulate_media(reduced_motion="reduce")
    page = shared_window.open(path)
    controls = page.evaluate(NUMBER)
    assert controls
    stops = reached(page)
    found = [int(stop["number"]) for stop in stops if stop["number"] is not None]
    assert [html for number, html in enumerate(controls) if number not in found] == []
    assert found == sorted(found), "the order of Tab is that of the page"
    assert [stop["html"] for stop in stops if not stop["ring"]] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_token_and_an_invite_are_made_and_ended_by_keyboard(window, server):
    page = window().open("/p/default/settings")
    page.get_by_role("link", name="Skip to content").focus()
    page.keyboard.press("Enter")
    tab_to(page, page.get_by_role("textbox", name="Name"))
    page.keyboard.type("by-keyboard")
    tab_to(page, page.get_by_role("button", name="New token"))
    page.keyboard.press("Enter")
    expect(page.get_by_text("by-keyboard").first).to_be_visible()
    page = window().open("/p/default/settings/members")
    tab_to(page, page.get_by_role("button", name="Make an invite link"))
    page.keyboard.press("Enter")
    expect(page.locator(".new-link")).to_be_visible()
    tab_to(page, page.get_by_role("button", name="Withdraw"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Withdraw")).to_have_count(0)

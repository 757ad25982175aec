"""Every key of the help sheet works; the palette finds; in fields or switched off nothing fires."""

from pathlib import Path

import pytest

from tests.browser.axe import serious
from tests.browser.shell.list_keys import attention, calls, costs, dearest, period
from tests.browser.shell.session_keys import failed_call, notes, timeline, turns_of
from tests.support import build

TAPES = Path(__file__).parents[2] / "tapes" / "phi-core"
CURRENT = "[role=treeitem][tabindex='0']"
GROUND = """async (each) => {
  await Promise.allSettled(each.getAnimations().map((one) => one.finished));
  return getComputedStyle(each).backgroundColor;
}"""


@pytest.fixture(scope="module")
def recorded(server):
    """A session with an evaluation in it, and a long one; return the address of the first."""
    tape = (TAPES / "03-parallel-judge.events.jsonl").read_text().splitlines()
    server.agent().send(*tape)
    long = [build.agent_start("long.a.1", at=0)]
    for n in range(30):
        long += [build.turn_start("long.a.1", index=n), build.turn_end("long.a.1", tokens=1_000)]
    server.agent().send(*long, build.agent_end("long.a.1"))
    server.agent().send(*failed_call("failed.a.1"), *build.small_loop("failed.a.2"))
    items = server.read("/api/v1/sessions")["items"]
    return {item["session_id"]: item["url"] for item in items} | {
        "evaluation": next(item["url"] for item in items if item["groups"])
    }


def close(page):
    """Close the dialog, and wait until the page has the focus again."""
    page.keyboard.press("Escape")
    page.wait_for_function("() => !document.activeElement.closest('dialog')")


def at(page, part):
    page.wait_for_url(lambda url: part in url)


def focused(page, selector):
    return page.evaluate("(selector) => document.activeElement.matches(selector)", selector)


def keys_of_the_sheet(page):
    """Return the keys that the help names, by group."""
    page.keyboard.press("?")
    sheet = page.get_by_role("dialog", name="Keyboard shortcuts")
    sheet.wait_for()
    groups = sheet.locator("section").evaluate_all(
        "all => all.map(one => [one.querySelector('h3').textContent,"
        " [...one.querySelectorAll('dd')].map(dd => dd.dataset.of)])"
    )
    sheet.get_by_role("button", name="Close").click()
    assert not sheet.is_visible()
    return dict(groups)


GROUPS = ("Everywhere", "Lists", "Sessions", "Attention", "Costs", "Calls", "A session")


@pytest.mark.parametrize("group", GROUPS)
def test_every_key_of_the_sheet_works(window, recorded, group):
    walks = {
        "Everywhere": [everywhere],
        "Lists": [lists, period],
        "Sessions": [sessions, dearest],
        "Attention": [attention],
        "Costs": [costs],
        "Calls": [calls],
        "A session": [a_session],
    }
    page = window(viewport={"width": 1440, "height": 700}).open("/p/default/sessions")
    shown = keys_of_the_sheet(page)
    assert set(shown) == set(walks) == set(GROUPS)
    page.reload()
    page.locator("[data-connection=live]").wait_for()

    assert set(shown[group]) == {key for walk in walks[group] for key in walk(page, recorded)}


def everywhere(page, recorded):
    page.keyboard.press("Control+k")
    palette = page.get_by_role("combobox", name="Search, or go anywhere")
    palette.fill("what was typed is left behind")
    yield "Mod+k"
    close(page)
    page.keyboard.press("?")
    page.get_by_role("dialog", name="Keyboard shortcuts").wait_for()
    yield "?"
    close(page)
    page.keyboard.press("/")
    assert focused(page, ".filters [type=search]")
    page.keyboard.press("t")
    assert page.locator(".filters [type=search]").input_value() == "t"
    page.locator(".filters [type=search]").fill("")
    page.keyboard.press("Escape")
    if focused(page, ".filters [type=search]"):  # the completions had come, and it closed them
        page.keyboard.press("Escape")
    yield "/"
    page.keyboard.press("t")
    assert page.locator("html").get_attribute("data-theme") == "dark"
    yield "t"
    page.keyboard.press("\\")
    assert page.locator("html").get_attribute("data-nav") == "rail"
    page.keyboard.press("\\")
    yield "\\"
    for letter, place in (
        ("a", "attention"),
        ("e", "evaluations"),
        ("l", "leaderboard"),
        ("c", "costs"),
        ("x", "context"),
        ("o", "compactions"),
        ("t", "calls"),
        ("k", "connect"),
        ("n", "insights"),
        ("i", "integrity"),
        ("f", "search"),
        ("s", "sessions"),
    ):
        page.keyboard.press("g")
        page.keyboard.press(letter)
        at(page, f"/{place}")
        page.wait_for_load_state()
        yield f"g {letter}"


def lists(page, recorded):
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert focused(page, ".session-row:nth-child(2) [data-row]")
    yield "j"
    page.keyboard.press("k")
    assert focused(page, ".session-row:nth-child(1) [data-row]")
    yield "k"
    page.keyboard.press("Enter")
    at(page, "/sessions/")
    page.go_back()
    page.locator("[data-connection=live]").wait_for()
    yield "Enter"


def sessions(page, recorded):
    page.keyboard.press("l")
    page.locator("[data-connection]", has_text="Paused").wait_for()
    page.keyboard.press("l")
    page.locator("[data-connection]", has_text="Live").wait_for()
    yield "l"
    page.keyboard.press("j")
    page.keyboard.press("x")
    assert page.locator("[data-selection]").inner_text().startswith("1 selected")
    yield "x"
    page.keyboard.press("j")
    page.keyboard.press("X")
    assert page.locator("[data-selection]").inner_text().startswith("2 selected")
    yield "X"
    page.keyboard.press("c")
    at(page, "/compare?of=")
    assert page.locator("h1").inner_text() == "2 sessions compared"
    yield "c"


def a_session(page, recorded):
    page.goto(page.url.split("/p/")[0] + recorded["evaluation"])
    page.locator("[data-connection=live]").wait_for()
    page.keyboard.press("k")
    page.keyboard.press("k")
    assert "/loops/" in page.url, "the address names the loop that is shown"
    here = page.locator(CURRENT).inner_text()
    yield "k"
    page.keyboard.press("j")
    assert page.locator(CURRENT).inner_text() != here
    yield "j"
    page.keyboard.press("h")
    page.keyboard.press("h")
    assert page.locator(".parallel-header").get_attribute("aria-expanded") == "false"
    yield "h"
    page.keyboard.press("l")
    assert page.locator(".parallel-header").get_attribute("aria-expanded") == "true"
    yield "l"
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.locator("#loop-selection[data-filled]").wait_for()
    page.keyboard.press("Escape")
    page.locator("#loop-selection:not([data-filled])").wait_for(state="attached")
    yield "x"
    url = page.url
    page.keyboard.press("Enter")
    page.wait_for_url(lambda now: now != url)
    yield "Enter"
    page.locator("[data-connection=live]").wait_for()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.keyboard.press("y")
    page.locator(".loop-id[data-copied]").wait_for()
    yield "y"
    for key, tab in (
        ("2", "tab=timeline"),
        ("3", "tab=events"),
        ("4", "tab=context"),
        ("5", "tab=compactions"),
        ("6", "tab=json"),
        ("1", "#loop"),
    ):
        page.keyboard.press(key)
        at(page, tab)
        page.wait_for_load_state()
        yield key
    page.keyboard.press("w")
    page.wait_for_load_state()
    page.locator(".tree-row.is-winner").locator("xpath=..").and_(
        page.locator("[aria-selected=true]")
    ).wait_for()
    yield "w"
    page.keyboard.press("c")
    at(page, "/evaluations/")
    yield "c"
    page.goto(page.url.split("/p/")[0] + recorded["failed"])
    page.locator("[data-connection=live]").wait_for()
    page.keyboard.press("e")
    page.locator(".tool.is-failed summary:focus").wait_for()
    page.keyboard.press("e")
    page.wait_for_url("**/loops/*?turn=1#turn-1")
    yield "e"
    page.goto(page.url.split("/p/")[0] + recorded["long"])
    page.locator("[data-connection=live]").wait_for()
    yield from notes(page)
    page.keyboard.press("v")
    at(page, "/turns?sort=-cost")
    yield "v"
    yield from turns_of(page, recorded)
    page.goto(page.url.split("/p/")[0] + recorded["long"])
    page.locator("[data-connection=live]").wait_for()
    page.keyboard.press("f")
    page.locator("[data-follow][aria-pressed=true]").wait_for()
    yield "f"
    page.keyboard.press("m")
    at(page, "raw=1")
    page.locator("[data-connection=live]").wait_for()
    page.keyboard.press("m")
    page.wait_for_url(lambda now: "raw=1" not in now)
    yield "m"
    page.locator("[data-connection=live]").wait_for()
    page.keyboard.press("f")
    page.locator("[data-follow][aria-pressed=true]").wait_for()
    end = page.evaluate("document.querySelector('#loop-scroll').scrollTop")
    page.keyboard.press("[")
    page.wait_for_function("(end) => document.querySelector('#loop-scroll').scrollTop < end", arg=end)
    up = page.evaluate("document.querySelector('#loop-scroll').scrollTop")
    yield "["
    page.keyboard.press("[")
    page.wait_for_function("(up) => document.querySelector('#loop-scroll').scrollTop < up", arg=up)
    page.keyboard.press("]")
    page.wait_for_function("(up) => document.querySelector('#loop-scroll').scrollTop == up", arg=up)
    yield "]"
    yield from replay(page)
    page.goto(page.url.split("/p/")[0] + recorded["long"])
    page.locator("[data-connection=live]").wait_for()
    yield from timeline(page)


def replay(page):
    attribute = page.locator("[data-replay]").get_attribute
    for key, number in (
        ("ArrowLeft", 62),
        ("Shift+ArrowLeft", 61),
        ("ArrowLeft", 60),
        ("Shift+ArrowRight", 61),
        ("ArrowRight", 62),
    ):
        page.keyboard.press(key)
        page.locator(f"[data-replay][data-number='{number}']").wait_for()
        page.locator(f"[role=slider][aria-valuenow='{number}']").wait_for()
        yield key
    idle = page.locator("[data-play]").evaluate(GROUND)
    page.keyboard.press("Space")  # at the end it begins anew
    page.locator("[data-play][aria-pressed=true]").wait_for()
    assert page.locator("[data-play]").evaluate(GROUND) == idle  # else the sign for pause is white on white
    page.locator("[data-replay]:not([data-number='1'])").wait_for()
    page.keyboard.press("Space")
    page.locator("[data-play][aria-pressed=false]").wait_for()
    assert int(attribute("data-number")) < 62
    yield "Space"


def test_the_palette_finds_goes_and_acts(window, recorded):
    watched = window(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    page = watched.open("/p/default/sessions")
    page.keyboard.press("Meta+k")
    page.get_by_role("combobox", name="Search, or go anywhere").press_sequentially("trade-offs")
    option = page.get_by_role("option", selected=True)
    option.filter(has_text="Summarise").wait_for()
    assert serious(page) == []
    first = option.inner_text().rsplit("\n", 1)[0]  # without the time since then, which goes on
    page.keyboard.press("ArrowUp")
    assert page.get_by_role("option", selected=True).inner_text() == "Filter sessions by “trade-offs”"
    page.keyboard.press("ArrowDown")
    assert option.inner_text().rsplit("\n", 1)[0] == first
    page.keyboard.press("Enter")
    at(page, "/sessions/")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search, or go anywhere").press_sequentially("switch")
    page.get_by_role("option", name="Switch between").click()
    assert page.locator("html").get_attribute("data-theme") == "dark"
    assert watched.faults == []
    assert watched.violations() == []


def test_switched_off_no_single_key_does_anything_but_the_palette_opens(window, recorded):
    page = window().open("/p/default/settings")
    page.get_by_role("switch").click()
    page.locator("html[data-keys=off]").wait_for()
    assert page.get_by_role("switch").get_attribute("aria-checked") == "false"
    for key in ("t", "?", "g", "s"):
        page.keyboard.press(key)
    assert page.locator("html").get_attribute("data-theme") is None
    assert page.get_by_role("dialog").count() == 0
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search, or go anywhere").wait_for()
    assert "/settings" in page.url

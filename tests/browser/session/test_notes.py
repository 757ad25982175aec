"""Notes in a browser: written with the keyboard, seen by another browser, on narrow windows, by axe."""

import pytest

from tests.browser.axe import RULES, serious
from tests.browser.pages import post_note
from tests.support import build

HOSTILE = "<img src=x onerror='window.__pwned = 1'> [x](javascript:alert(1)) **bold**"


@pytest.fixture(scope="module")
def scores(server):
    server.manage("score", "create", "helpful", "--min", "1", "--max", "5", "--meaning", "Brings it forward")
    server.manage("score", "create", "solved", "--kind", "category", "--categories", "yes,partly,no")


def recorded(server, name):
    loop = f"{name}.a.1"
    server.agent().send(
        build.agent_start(loop),
        build.turn_start(loop),
        build.turn_end(loop, message=build.assistant("First answer.")),
        build.turn_start(loop, index=1, at=3),
        build.turn_end(loop, at=4, message=build.assistant("Second answer.")),
        build.agent_end(loop),
    )
    return server.session_url(name)


def test_a_note_and_a_score_written_with_keys_appear_in_another_browser(window, server, scores):
    url = recorded(server, "keys")
    mine, other = window(), window()
    page, theirs = mine.open(url), other.open(f"{url}?notes=all")
    page.locator(".turn").nth(1).locator("h3").evaluate("(h3) => { h3.tabIndex = -1; h3.focus(); }")

    page.keyboard.press("n")
    dialog = page.get_by_role("dialog", name="Add to Turn 2")
    dialog.get_by_label("Note").fill("Why **this**?")
    page.keyboard.press("Control+Enter")

    entry = theirs.locator(".turn").nth(1).locator(".entry")
    entry.get_by_text("Why this?").wait_for()
    assert entry.locator("strong").first.inner_text() == "this"
    theirs.locator("#rail").get_by_text("Why this?").wait_for()
    dialog.wait_for(state="hidden")
    assert page.evaluate("document.activeElement.matches('.note-add')")

    page.keyboard.press("r")
    dialog.get_by_role("radio", name="4").check()
    dialog.get_by_role("button", name="Add score").click()
    theirs.locator(".turn").nth(1).locator(".mark-pill", has_text="helpful 4").wait_for()

    page.keyboard.press("b")
    dialog.get_by_role("button", name="Add bookmark").click()
    theirs.locator(".turn").nth(1).locator(".mark-bookmark").wait_for()
    assert (mine.faults, other.faults, mine.violations()) == ([], [], [])


@pytest.mark.parametrize("path", ["{url}/notes/new", "{list}/note?of={key}"])
def test_a_note_is_sent_with_keys_on_a_page_too(window, server, path):
    url = recorded(server, "page-keys")
    sessions, _, key = url.rpartition("/")
    mine = window()
    page = mine.open(path.format(url=url, list=sessions, key=key))
    page.get_by_label("Note", exact=True).fill("By keys.")

    with page.expect_navigation():
        page.keyboard.press("Control+Enter")

    page.goto(f"{url}?notes=all")
    page.locator("#rail").get_by_text("By keys.").first.wait_for()
    assert (mine.faults, mine.violations()) == ([], [])


def test_escape_keeps_the_draft_and_the_dot_opens_the_rail(window, server, scores):
    page = window().open(recorded(server, "draft"))
    page.keyboard.press("n")
    area = page.locator("#note-dialog textarea")
    area.fill("half a thought")
    page.keyboard.press("Escape")
    area.wait_for(state="hidden")
    page.keyboard.press("n")
    area.wait_for()
    assert area.input_value() == "half a thought"
    page.keyboard.press("Escape")

    page.keyboard.press(".")
    page.locator("#rail").get_by_text("No notes on this session").wait_for()
    page.keyboard.press(".")
    page.locator("#rail").wait_for(state="detached")


def test_an_at_sign_completes_the_name_of_a_member(window, server, scores):
    page = window().open(recorded(server, "mention"))
    page.keyboard.press("n")
    area = page.locator("#note-dialog textarea")
    area.press_sequentially("Look, @")
    page.get_by_role("listbox", name="Members").wait_for()
    first = page.get_by_role("option").first.inner_text()
    area.press("Enter")
    assert area.input_value() == f"Look, @{first} "


@pytest.mark.parametrize("width", [390, 1440])
def test_rail_and_dialog_fit_and_have_no_accessibility_violations(window, server, scores, width):
    name = f"axe{width}"
    url = recorded(server, name)
    target = {"session_id": name, "loop": f"{name}.a.1", "turn": 1}
    post_note(server, target=target, text=HOSTILE)
    post_note(server, target=target, name="helpful", value=4, text="Correct.")
    post_note(
        server, target={"session_id": name}, name="solved", value="yes", source="judge", author="sonnet"
    )
    watched = window(viewport={"width": width, "height": 900})
    for scheme in ("light", "dark"):
        page = watched.open(f"{url}?notes=all")
        page.emulate_media(color_scheme=scheme)
        page.locator("#rail").get_by_text("solved").wait_for(state="attached")
        page.keyboard.press("r")
        page.locator("#note-dialog .picks").wait_for()
        assert serious(page, RULES) == []
        wide, inner = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert wide <= inner
        box = page.locator("#note-dialog").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert box["y"] + box["height"] <= 900
    assert page.evaluate("window.__pwned") is None
    assert watched.faults == []


def test_without_javascript_links_and_forms_write(window, server, scores):
    page = window(java_script_enabled=False).page
    page.goto(recorded(server, "plain"))
    page.locator(".turn").nth(1).locator(".note-add").click()
    page.get_by_label("Note").fill("Written without a script.")
    page.get_by_role("button", name="Add note").click()
    page.locator(".turn").nth(1).get_by_text("Written without a script.").wait_for()

"""The query box: chips, completion by keyboard, errors; with and without scripts."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.browser.axe import serious
from tests.support import build

PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module", autouse=True)
def sessions(server):
    agent = server.agent()
    for name in ("alpha", "beta"):
        agent.send(*(build.line(event).decode() for event in build.small_loop(f"{name}.a.1")))
    events = [
        build.agent_start("tooled.b.1"),
        build.turn_start("tooled.b.1"),
        build.tool_start("tooled.b.1"),
        build.tool_end("tooled.b.1"),
        build.agent_end("tooled.b.1"),
    ]
    agent.send(*(build.line(event).decode() for event in events))
    server.read("/api/v1/sessions")


def query_of(page):
    return parse_qs(urlsplit(page.url).query).get("q", [""])[0]


def chips(page):
    return [
        re.sub(r"\s+", "", text).removesuffix("\N{MULTIPLICATION SIGN}")
        for text in page.locator(".search-token").all_inner_texts()
    ]


def field(page):
    return page.get_by_label("Search sessions")


def titles(page):
    return page.locator(".session-row").count()


def test_chips_and_text_are_one_query(window):
    page = window().open('/p/default/sessions?q=tool:bash+-agent:"my+coder"+plain+words')
    assert chips(page) == ["tool:bash", 'notagent:"mycoder"']
    assert field(page).input_value() == "plain words"

    field(page).press("Home")
    field(page).press("Backspace")
    assert chips(page) == ["tool:bash"]
    assert field(page).input_value() == '-agent:"my coder" plain words'

    field(page).fill("")
    field(page).press("Enter")
    page.wait_for_url("**q=tool%3Abash")
    assert titles(page) == 1

    with page.expect_navigation():
        page.get_by_role("button", name="Remove tool:bash").click()
    assert query_of(page) == ""


def test_a_condition_that_a_space_ends_becomes_a_chip_and_pasted_text_too(window):
    page = window().open("/p/default/sessions")
    field(page).press_sequentially("turns:>=0 ")
    assert chips(page) == ["turns:>=0"]
    assert field(page).input_value() == ""
    page.evaluate(
        """(text) => {
          const field = document.querySelector('[data-query] input[type=search]');
          field.value = text;
          field.dispatchEvent(new InputEvent("input", {inputType: "insertFromPaste", bubbles: true}));
        }""",
        "loops:[1,2] word",
    )
    assert chips(page) == ["turns:>=0", "loops:[1,2]"]
    with page.expect_navigation():
        field(page).press("Enter")
    assert query_of(page) == "turns:>=0 loops:[1,2] word"


def test_alternatives_stay_text(window):
    page = window().open("/p/default/sessions?q=tool:bash+OR+session:alpha")
    assert chips(page) == []
    assert field(page).input_value() == "tool:bash OR session:alpha"
    assert titles(page) == 2


def test_keys_and_values_are_completed_by_keyboard(window):
    page = window().open("/p/default/sessions")
    box = field(page)
    box.press_sequentially("too")
    options = page.get_by_role("option")
    options.first.wait_for()
    assert box.get_attribute("aria-expanded") == "true"
    assert options.first.inner_text().startswith("tool:")
    box.press("ArrowDown")
    assert box.get_attribute("aria-activedescendant") == options.first.get_attribute("id")
    assert serious(page) == []
    box.press("Tab")
    page.get_by_role("option", name="tool:bash").wait_for()
    assert box.input_value() == "tool:"
    box.press("ArrowDown")
    box.press("Enter")
    assert chips(page) == ["tool:bash"]
    assert box.evaluate("(box) => box == document.activeElement")

    box.press_sequentially("sta")
    options.first.wait_for()
    box.press("Escape")
    assert options.count() == 0 or not options.first.is_visible()
    assert box.get_attribute("aria-expanded") == "false"


def test_a_removed_chip_leaves_the_query_although_its_menu_has_it(window):
    page = window().open("/p/default/sessions?q=turns:>=0+status:completed")
    assert chips(page) == ["turns:>=0", "status:completed"]
    with page.expect_navigation():
        page.get_by_role("button", name="Remove status:completed").click()
    assert chips(page) == ["turns:>=0"]
    assert query_of(page) == "turns:>=0"


def test_a_menu_writes_the_query(window):
    page = window().open("/p/default/sessions?q=turns:>=0")
    page.locator("summary", has_text="Status").click()
    page.get_by_role("checkbox", name="Completed").check()
    with page.expect_navigation():
        page.get_by_role("button", name="Apply").locator("visible=true").click()
    assert chips(page) == ["turns:>=0", "status:completed"]
    assert query_of(page) == "turns:>=0 status:completed"
    page.locator("summary", has_text="Status").click()
    page.get_by_role("checkbox", name="Completed").uncheck()
    with page.expect_navigation():
        page.get_by_role("button", name="Apply").locator("visible=true").click()
    assert query_of(page) == "turns:>=0"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_query_in_error_shows_where_and_is_corrected_by_one_button(window, theme):
    page = window(color_scheme=theme).open("/p/default/sessions?q=plain+costs:>1")
    assert page.locator(".query-error mark").inner_text() == "costs"
    assert field(page).input_value() == "plain costs:>1"
    assert serious(page) == []
    with page.expect_navigation():
        page.get_by_role("button", name="Use cost").click()
    assert query_of(page) == "plain cost:>1"
    assert page.locator(".query-error").count() == 0


def test_on_a_phone_chips_and_completions_fit(window):
    page = window(viewport=PHONE).open(
        "/p/default/sessions?q=status:completed+turns:>=0+model:[a,b]+" + "x" * 90
    )
    assert len(chips(page)) == 3
    field(page).press_sequentially(" sta")
    page.get_by_role("option").first.wait_for()
    wide, inner = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide <= inner


def test_without_scripts_the_field_is_the_query(window, server):
    page = window(java_script_enabled=False).page
    page.goto(f"{server.url}/p/default/sessions?q=tool:bash")
    assert field(page).input_value() == "tool:bash"
    field(page).fill("session:alpha")
    with page.expect_navigation():
        field(page).press("Enter")
    assert query_of(page) == "session:alpha"
    assert titles(page) == 1

"""The query box of the costs page: chips and menus, new figures beside typed text, phone, no scripts."""

from datetime import UTC, datetime

import pytest

from tests.browser.axe import serious
from tests.browser.sessions.test_query_box import PHONE, chips, query_of
from tests.support import build

CONFIG = {"model": "claude-haiku-4-5", "provider": "anthropic", "api": "anthropic_messages"}
ADDRESS = "/p/default/costs?q=loops:1+-tool:bash&by=agent&agent=coder"


def spends(name, tokens, agent="coder"):
    """Return a loop that ended now and read as many tokens, at $1 a million."""
    now = datetime.now(UTC).isoformat()
    used = {"input": tokens, "output": 0}
    answer = build.assistant(model=CONFIG["model"], provider=CONFIG["provider"])
    return [
        build.line(event).decode()
        for event in (
            build.agent_start(name, agent_id=agent, config_snapshot=CONFIG, timestamp=now),
            build.turn_end(name, message={**answer, "usage": used}, usage=used, timestamp=now),
            build.agent_end(name, usage=used, timestamp=now),
        )
    ]


@pytest.fixture(scope="module", autouse=True)
def recorded(server):
    server.agent().send(*spends("one.a.1", 1_000_000), *spends("two.b.1", 2_000_000, agent="expert"))
    server.read("/api/v1/sessions")


def field(page):
    return page.get_by_label("Search costs")


def cost(page):
    return page.locator(".tile dd").first.inner_text().split()[0]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_menus_and_chips_are_one_query(window, theme):
    page = window(color_scheme=theme).open(ADDRESS)
    assert chips(page) == ["loops:1", "nottool:bash", "agent:coder"]
    assert cost(page) == "$1.00"
    assert serious(page) == []
    with page.expect_navigation():
        page.get_by_role("button", name="Remove agent:coder").click()
    assert query_of(page) == "loops:1 -tool:bash"
    assert "by=agent" in page.url
    assert cost(page) == "$3.00"
    page.locator("summary", has_text="Agent").click()
    page.get_by_role("checkbox", name="expert").check()
    with page.expect_navigation():
        page.get_by_role("group", name="Agent").get_by_role("button", name="Apply").click()
    assert chips(page) == ["loops:1", "nottool:bash", "agent:expert"]
    assert cost(page) == "$2.00"


def test_a_query_in_error_shows_its_position_and_a_fix(window):
    page = window().open("/p/default/costs?q=loops:1+agnet:coder&by=model")
    assert page.locator(".query-error mark").inner_text() == "agnet"
    assert serious(page) == []
    with page.expect_navigation():
        page.get_by_role("button", name="Use agent").click()
    assert query_of(page) == "loops:1 agent:coder"
    assert "by=model" in page.url
    assert cost(page) == "$1.00"


def test_new_figures_leave_a_text_being_typed_alone(window, server):
    page = window().open("/p/default/costs?q=session:[one,three]")
    box = field(page)
    box.press_sequentially("tool:ba")
    server.agent().send(*spends("three.a.1", 500_000))
    # With a query on sessions the figures are drawn at most every 30 s.
    page.locator(".tile dd", has_text="$1.50").wait_for()
    assert box.input_value() == "tool:ba"
    assert box.evaluate("each => each == document.activeElement")
    assert chips(page) == ["session:[one,three]"]


def test_the_box_fits_on_a_phone_and_works_without_scripts(window, server):
    page = window(viewport=PHONE).open(ADDRESS)
    wide, inner = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide <= inner
    page = window(java_script_enabled=False).page
    page.goto(f"{server.url}/p/default/costs?by=agent")
    field(page).fill("session:two")
    with page.expect_navigation():
        field(page).press("Enter")
    assert query_of(page) == "session:two"
    assert "by=agent" in page.url
    assert cost(page) == "$2.00"

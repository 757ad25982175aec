"""Saved views and columns in a browser: reload, back, a copied address, another person, live rows."""

import pytest
from playwright.sync_api import expect

from tests.browser.axe import serious
from tests.support import build


@pytest.fixture(scope="module", autouse=True)
def sessions(server):
    for n in range(6):
        agent = ("alpha", "beta")[n % 2]
        events = build.small_loop(f"viewed-{n}.a.1", at=n)
        server.agent().send(*(build.line(event | _agent(event, agent)).decode() for event in events))


def _agent(event, name):
    return {"agent_id": name} if event["type"] == "AgentStart" else {}


def rows(page):
    return [row.get_attribute("href") for row in page.locator("[data-row]").all()]


def save(page, name, visibility="me"):
    page.locator("summary", has_text="Save").first.click()
    form = page.locator(".views-actions .view-form")
    form.get_by_label("Name").fill(name)
    form.locator(f"[name=visibility][value={visibility}]").check()
    form.get_by_role("button", name="Save view").click()
    page.wait_for_url("**view=*")


def tab(page, name):
    return page.get_by_role("navigation", name="Saved views").get_by_role("link", name=name)


def test_a_view_survives_reload_back_and_a_copied_address(window, server):
    page = window().open("/p/default/sessions?agent=alpha&cols=turns,cost")
    save(page, "Alpha", "project")
    kept = rows(page)
    assert len(kept) == 3
    assert tab(page, "Alpha").get_attribute("aria-current") == "page"
    page.reload()
    assert rows(page) == kept

    page.goto(page.url.replace("q=agent%3Aalpha", "q="))
    assert len(rows(page)) == 6
    assert page.locator(".views-actions").get_by_text("Edited").is_visible()
    assert tab(page, "Alpha").get_by_role("img", name="edited").is_visible()
    assert serious(page) == []
    edited = page.url
    page.go_back()
    page.locator(".views-actions").get_by_text("Edited").wait_for(state="detached")
    assert rows(page) == kept

    other = window().open(edited)
    assert other.locator(".views-actions").get_by_text("Edited").is_visible()
    other.get_by_role("link", name="Reset").click()
    other.wait_for_url("**q=agent%3Aalpha**")
    assert rows(other) == kept
    headers = other.locator("[role=columnheader]").all_inner_texts()
    assert headers == ["Session", "Turns", "Cost, by config"]


def test_a_name_that_exists_is_an_error_at_its_field_and_can_be_changed(window):
    page = window().open("/p/default/sessions?agent=beta")
    save(page, "Beta")
    page.goto(page.url + "&outcome=completed")
    page.locator("summary", has_text="Save as").click()
    form = page.locator(".views-actions .view-form")
    form.get_by_label("Name").fill("Beta")
    form.get_by_role("button", name="Save view").click()
    field = page.get_by_label("Name")
    field.wait_for()
    assert page.locator("[role=alert]").inner_text().startswith("There is another view with this name")
    assert field.get_attribute("aria-invalid") == "true"
    assert serious(page) == []
    field.fill("Beta, completed")
    page.get_by_role("button", name="Save view").click()
    page.wait_for_url("**view=*")
    assert tab(page, "Beta, completed").get_attribute("aria-current") == "page"


def test_columns_are_chosen_and_ordered_by_keyboard_and_rows_stay_live(window, server):
    page = window().open("/p/default/sessions")
    page.locator(".columns-menu summary").focus()
    page.keyboard.press("Enter")
    for label in ("Turns", "Model configs", "Tokens", "Cost, by config", "Duration", "Last activity"):
        page.get_by_role("checkbox", name=label, exact=True).focus()
        page.keyboard.press("Space")
    page.get_by_role("checkbox", name="Tool calls").focus()
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    page.wait_for_url("**cols=**")
    assert page.locator("[role=columnheader]").all_inner_texts() == ["Session", "Loops", "Tool calls"]
    page.locator("[data-connection=live]").wait_for()

    page.locator(".columns-menu summary").click()
    page.get_by_role("link", name="Move Tool calls to the left").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**#column-tools")
    assert page.locator("[role=columnheader]").all_inner_texts() == ["Session", "Tool calls", "Loops"]
    page.locator("[data-connection=live]").wait_for()

    row = page.locator(".session-row").first
    cells = row.locator("[role=cell]")
    assert cells.count() == 3
    server.agent().send(build.agent_start("viewed-5.a.2", at=20))
    page.locator(".session-row[data-state=running]").first.wait_for()
    live = page.locator(".session-row[data-state=running]").first.locator("[role=cell]")
    assert [cell.get_attribute("data-column") for cell in live.all()] == [None, "tools", "loops"]


def test_a_phone_shows_chosen_columns_as_a_card(window):
    page = window(viewport={"width": 390, "height": 844}).open(
        "/p/default/sessions?cols=turns,errors,created,id,agent"
    )
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.locator("[data-column=errors]").last.is_visible()
    assert serious(page) == []


def test_views_and_columns_work_without_scripts(window):
    watched = window(java_script_enabled=False)
    page = watched.page
    page.goto(watched._server.url + "/p/default/sessions?agent=beta&outcome=completed")
    save(page, "No scripts")
    assert tab(page, "No scripts").get_attribute("aria-current") == "page"
    page.locator(".columns-menu summary").click()
    page.get_by_role("checkbox", name="Errors").check()
    page.locator(".columns-form").get_by_role("button", name="Apply").click()
    page.get_by_role("columnheader", name="Errors").wait_for()
    page.locator(".views-actions").get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".views-actions").get_by_text("Edited")).to_have_count(0)
    page.get_by_role("link", name="Manage views").click()
    page.locator(".view-row", has_text="No scripts").get_by_text("Edit").click()
    page.get_by_role("button", name="Delete No scripts").click()
    expect(page.locator(".view-row", has_text="No scripts")).to_have_count(0)

"""The navigation: theme, width, and the menu of a phone."""

from playwright.sync_api import expect


def test_theme_and_navigation_change_at_once_and_stay(window):
    page = window(color_scheme="light").open("/p/default/settings")
    with page.expect_response("**/theme"):
        page.get_by_role("button", name="Theme").click()
    assert page.get_attribute("html", "data-theme") == "dark"
    with page.expect_response("**/theme"):
        page.get_by_role("button", name="Collapse or expand").click()
    page.reload()

    assert page.get_attribute("html", "data-theme") == "dark"
    assert page.get_attribute("html", "data-nav") == "rail"
    expect(page.get_by_role("link", name="Sessions")).to_be_visible()


def test_the_menu_of_a_phone_has_the_items_missing_in_the_bar(window):
    page = window(viewport={"width": 390, "height": 844}).open("/p/default/settings")
    expect(page.get_by_role("button", name="Sign out")).to_be_hidden()
    page.get_by_role("button", name="Menu").click()

    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    expect(page.get_by_text("Live now")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Sign out")).to_be_hidden()

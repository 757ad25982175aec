"""A share link in browsers: made in the dialog, read by another browser live, revoked under it."""

from urllib.parse import urlsplit

import pytest

from tests.browser.axe import serious
from tests.support import build

LOOP = "shared.a.1"


@pytest.fixture(scope="module")
def session(server):
    server.agent().send(
        build.agent_start(LOOP),
        build.turn_start(LOOP),
        build.turn_end(LOOP, message=build.assistant("First answer.")),
    )
    return server.session_url("shared")


def make(page, **options):
    """Make a link in the dialog; return it."""
    page.get_by_role("link", name="Share", exact=True).click()
    dialog = page.get_by_role("dialog", name="Share this session")
    for name in options:
        dialog.get_by_label(name).check()
    dialog.get_by_role("button", name="Make a link").click()
    link = dialog.locator(".share-copy code").inner_text()
    dialog.get_by_role("button", name="Close").click()
    return link


def test_a_link_is_read_live_by_a_browser_without_an_account_until_it_is_revoked(window, server, session):
    mine, other = window(), window(state=None)
    page = mine.open(session)
    link = make(page)
    requests = []
    other.context.on("request", lambda request: requests.append(urlsplit(request.url).path))
    theirs = other.open(link)
    theirs.get_by_text("First answer.").wait_for()
    server.agent().send(
        build.turn_start(LOOP, index=1, at=3),
        build.turn_end(LOOP, at=4, message=build.assistant("Second answer.")),
    )
    theirs.get_by_text("Second answer.").wait_for()
    theirs.get_by_role("link", name="Timeline").click()
    theirs.locator(".waterfall").first.wait_for()
    assert theirs.get_by_role("navigation", name="Main").count() == 0
    assert theirs.get_by_role("link", name="Events").count() == 0
    assert [path for path in requests if not path.startswith(("/s/", "/static/"))] == []

    page.get_by_role("link", name="Share", exact=True).click()
    dialog = page.get_by_role("dialog", name="Share this session")
    dialog.get_by_text("opened 1 time").wait_for()
    assert link not in dialog.inner_text()
    dialog.get_by_role("button", name="Revoke").click()
    dialog.get_by_text("No links.").wait_for()
    theirs.locator("[data-connection=signed-out]").wait_for()
    theirs.reload()
    theirs.get_by_text("This link does not work").wait_for()
    assert (mine.faults, other.faults, mine.violations(), other.violations()) == ([], [], [], [])


def test_the_preview_shows_the_page_of_the_link_and_is_not_counted(window, server, session):
    mine = window()
    page = mine.open(session)
    page.get_by_role("link", name="Share", exact=True).click()
    dialog = page.get_by_role("dialog", name="Share this session")
    dialog.get_by_role("button", name="Make a link").click()
    with page.expect_popup() as opened:
        dialog.get_by_role("link", name="Preview").click()
    preview = opened.value
    preview.get_by_text("First answer.").first.wait_for()
    assert "/s/" in preview.url
    assert preview.get_by_role("navigation", name="Main").count() == 0
    preview.get_by_text("Live", exact=True).wait_for()
    preview.keyboard.press("2")
    preview.locator(".waterfall").first.wait_for()
    page.reload()
    page.get_by_role("link", name="Share", exact=True).click()
    dialog.locator(".share-links li").first.get_by_text("not opened yet").wait_for()


def test_a_link_with_a_password_is_made_and_opened_without_scripts(window, server, session):
    page = window(java_script_enabled=False).page
    page.goto(session)
    page.get_by_role("link", name="Share", exact=True).click()
    page.get_by_label("Password").fill("sesame")
    page.get_by_label("Frozen as of now").check()
    page.get_by_role("button", name="Make a link").click()
    link = page.locator(".share-copy code").inner_text()

    theirs = window(state=None, java_script_enabled=False, viewport={"width": 390, "height": 844}).page
    theirs.goto(link)
    theirs.get_by_label("Password").fill("wrong")
    theirs.get_by_role("button", name="Open").click()
    theirs.get_by_text("Wrong password.").wait_for()
    theirs.get_by_label("Password").fill("sesame")
    theirs.get_by_role("button", name="Open").click()
    theirs.get_by_text("First answer.").first.wait_for()
    theirs.get_by_role("button", name="Theme").click()
    assert theirs.locator("html").get_attribute("data-theme") == "dark"
    assert theirs.get_by_text("As of").count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_shared_pages_and_the_dialog_pass_axe(window, server, session, scheme):
    mine = window(color_scheme=scheme)
    page = mine.open(session)
    link = make(page, **{"Include notes and scores": True})
    page.get_by_role("link", name="Share", exact=True).click()
    page.locator(".share-form").wait_for()
    assert serious(page) == []
    theirs = window(state=None, color_scheme=scheme).open(link)
    assert serious(theirs) == []

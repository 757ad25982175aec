"""The permission to notify, and browsers without it."""

import pytest

from tests.browser.live.notifying_browser import (
    CHANNEL,
    LOCKED,
    LOOKS,
    SHOWN,
    another,
)

# A browser without an answer to the permission request; a headless one answers by itself.
UNASKED = """let answer = "default";
self.requested = 0;
Object.defineProperty(Notification, "permission", {get: () => answer});
Notification.requestPermission = async () => (requested++, (answer = "granted"));"""


def test_permission_is_requested_on_a_click_only(browser, server, signed_in):
    with another(browser, signed_in) as context:
        context.add_init_script(UNASKED)
        page = context.new_page()
        page.goto(server.url + LOOKS)
        page.evaluate(LOCKED, "0 held, 0 wait")
        assert page.evaluate("requested") == 0
        with page.expect_response(CHANNEL):
            page.get_by_role("button", name="Allow notifications").click()
        page.get_by_text("Allowed").wait_for()
        assert page.evaluate("requested") == 1
        page.get_by_role("button", name="Send a test").click()
        page.get_by_text("Sent.").wait_for()
        assert "This is a test notification." in page.evaluate(SHOWN, "test")


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("", "To undo it: click the icon left of the address"),
        ("Object.defineProperty(self, 'isSecureContext', {value: false})", "over https only"),
        ("delete self.Notification", "cannot show notifications"),
    ],
)
def test_the_page_says_why_a_browser_cannot_notify(browser, server, signed_in, script, words):
    with another(browser, signed_in, permissions=[]) as context:
        context.add_init_script(script)
        page = context.new_page()
        page.goto(server.url + LOOKS)
        page.get_by_text(words).wait_for()
        assert page.locator("[data-permission]:visible .button").count() == 0

"""Fixtures of the live browser tests."""

import pytest

from tests.browser.live.notifying_browser import NotifyingBrowser


@pytest.fixture(scope="module")
def tabs(browser, server, signed_in):
    opened = NotifyingBrowser(browser, server, signed_in)
    yield opened
    opened.context.close()

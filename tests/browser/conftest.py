"""A real browser, and a real server in a subprocess, for tests that need them."""

import os
import shutil
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import sync_playwright

from tests.browser import pages
from tests.browser.chromium import ARGS
from tests.browser.played_socket import open_page  # noqa: F401  a fixture
from tests.support.server import Server

WATCH = """window.violations = [];
addEventListener("securitypolicyviolation", (event) => {
  violations.push(`${event.violatedDirective} ${event.blockedURI}`);
});"""


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def chromium_path():
    path = os.environ.get("CHROMIUM", "/usr/bin/chromium")
    if not shutil.which(path):
        pytest.fail(f"no browser at {path}: install Debian's chromium, or set CHROMIUM to one")
    return path


@pytest.fixture(scope="module")
def browser(chromium_path):
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path, args=ARGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("server"))
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def addresses(server):
    """Where every page is, once something hostile has been recorded for each."""
    return pages.recorded(server)


@pytest.fixture(scope="module")
def signed_in(browser, server):
    """What a signed-in browser keeps: its cookies."""
    context = browser.new_context()
    server.sign_in(context.new_page())
    state = context.storage_state()
    context.close()
    return state


class Watched:
    """A browser window of its own that notes whatever should not happen."""

    def __init__(self, browser, server, state, **options) -> None:
        self.faults: list[str] = []
        self._server = server
        self.context = browser.new_context(storage_state=state, **options)
        self.context.add_init_script(WATCH)
        self.context.on("request", self._request)
        self.page = self.context.new_page()
        self.page.on("dialog", self._dialog)
        self.page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))

    def open(self, url: str):
        """Open a page and return it when it is live, or when it has loaded if it never will be."""
        self.page.goto(url if url.startswith("http") else self._server.url + url)
        if self.page.locator("[data-connection]").count():
            self.page.locator("[data-connection=live]").wait_for()
        return self.page

    def violations(self) -> list[str]:
        return self.page.evaluate("window.violations")

    def _request(self, request) -> None:
        place = urlsplit(request.url)
        if place.scheme != "data" and place.netloc != urlsplit(self._server.url).netloc:
            self.faults.append(f"asked {request.url}")

    def _dialog(self, dialog) -> None:
        self.faults.append(f"dialog: {dialog.message}")
        dialog.dismiss()


@pytest.fixture
def window(browser, server, signed_in):
    """Return a way to open a window, signed in unless told otherwise."""
    windows = []

    def window(*, state=signed_in, **options):
        windows.append(Watched(browser, server, state, **options))
        return windows[-1]

    yield window
    for each in windows:
        each.context.close()

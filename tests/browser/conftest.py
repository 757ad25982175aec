"""A real browser, and a real server in a subprocess, for tests that need them."""

import os
import shutil
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.browser import pages
from tests.browser.chromium import ARGS
from tests.browser.played_socket import open_page  # noqa: F401  a fixture
from tests.support.server import Server
from tests.support.wait import LONGEST_S

expect.set_options(timeout=1000 * LONGEST_S)  # Playwright counts milliseconds

VIEWPORT = {"width": 1280, "height": 720}
DEFAULT_MEDIA = dict.fromkeys(("media", "color_scheme", "reduced_motion"), "null")
WATCH = """window.violations = [];
addEventListener("securitypolicyviolation", (event) => {
  violations.push(`${event.violatedDirective} ${event.blockedURI}`);
});"""


class SharedBrowser:
    """The browser of consecutive browser tests: it starts once for all their files.

    It is closed before another kind of test, because Playwright's event loop would run beside asyncio's.
    """

    def __init__(self) -> None:
        self.is_last = False  # whether no browser test follows
        self._opened = ExitStack()
        self._browser = None

    def started(self, path: str):
        """Return the browser, started if it is not running."""
        if self._browser is None:
            playwright = self._opened.enter_context(sync_playwright())
            self._browser = playwright.chromium.launch(executable_path=path, args=ARGS)
            self._opened.callback(self._browser.close)
        return self._browser

    def close(self) -> None:
        self._opened.close()
        self._browser = None


SHARED = SharedBrowser()


def is_browser_test(item):
    return item is not None and Path(__file__).parent in item.path.parents


def pytest_collection_modifyitems(items):
    for item in items:
        if is_browser_test(item):
            item.add_marker(pytest.mark.browser)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(nextitem):
    SHARED.is_last = not is_browser_test(nextitem)


@pytest.fixture(scope="session")
def chromium_path():
    path = os.environ.get("CHROMIUM", "/usr/bin/chromium")
    if not shutil.which(path):
        pytest.fail(f"no browser at {path}: install Debian's chromium, or set CHROMIUM to one")
    return path


@pytest.fixture(scope="module")
def browser(chromium_path):
    yield SHARED.started(chromium_path)
    if SHARED.is_last:
        SHARED.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("server"))
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def addresses(server):
    """Addresses of all pages, after hostile text was recorded for each."""
    return pages.recorded(server)


@pytest.fixture(scope="module")
def signed_in(browser, server):
    """The cookies of a signed-in browser."""
    context = browser.new_context()
    context.set_default_timeout(1000 * LONGEST_S)
    server.sign_in(context.new_page())
    state = context.storage_state()
    context.close()
    return state


class Watched:
    """A browser window that notes errors and CSP violations."""

    def __init__(self, browser, server, state, **options) -> None:
        self.faults: list[str] = []
        self._server = server
        self.context = browser.new_context(storage_state=state, **options)
        self.context.set_default_timeout(1000 * LONGEST_S)
        self.context.add_init_script(WATCH)
        self.context.on("request", self._request)
        self.page = self.context.new_page()
        self.page.on("dialog", self._dialog)
        self.page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))

    def open(self, url: str):
        """Open a page and return it once it is live, or loaded if it has no socket."""
        self.page.goto(url if url.startswith("http") else self._server.url + url)
        if self.page.locator("[data-connection]").count():
            self.page.locator("[data-connection=live]").wait_for()
        return self.page

    def renew(self) -> None:
        """Forget what a test before has left: its faults, the width and the media, and what pages stored."""
        self.faults.clear()
        self.resume()
        if self.page.url != "about:blank":
            self.page.evaluate("localStorage.clear(); sessionStorage.clear()")

    def resume(self) -> None:
        """Give the open page the first width and media again."""
        self.page.set_viewport_size(VIEWPORT)
        self.page.emulate_media(**DEFAULT_MEDIA)

    def violations(self) -> list[str]:
        return self.page.evaluate("window.violations")

    def _request(self, request) -> None:
        place = urlsplit(request.url)
        if place.scheme != "data" and place.netloc != urlsplit(self._server.url).netloc:
            self.faults.append(f"requested {request.url}")

    def _dialog(self, dialog) -> None:
        self.faults.append(f"dialog: {dialog.message}")
        dialog.dismiss()


@pytest.fixture
def window(browser, server, signed_in):
    """Return a function that opens a window, signed in unless `state` is None."""
    windows = []

    def window(*, state=signed_in, **options):
        windows.append(Watched(browser, server, state, **options))
        return windows[-1]

    yield window
    for each in windows:
        each.context.close()


@pytest.fixture(scope="module")
def shared_window(browser, server, signed_in):
    """One window for all tests of a module that only look at pages; who uses it renews it first."""
    watched = Watched(browser, server, signed_in)
    yield watched
    watched.context.close()


@pytest.fixture(scope="module", params=pages.PAGES)
def name(request):
    """The name of a page. The tests that use it run page by page, in the order of the file."""
    return request.param


@pytest.fixture(scope="module")
def opened(name, browser, server, shared_window, addresses):
    """A window with a page, opened once for all tests of the page: to load it takes longer than most of them.

    All pages use one window, too, as a new one takes more CPU time than a page.
    """
    watched = Watched(browser, server, None) if name == "signin" else shared_window
    watched.renew()
    watched.open(addresses[name])
    yield watched
    if watched is not shared_window:
        watched.context.close()

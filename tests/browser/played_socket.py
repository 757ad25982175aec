"""A page whose WebSocket is played by the test."""

import re
from pathlib import Path

import pytest
from django_htmx import jinja

from tests.support.wait import LONGEST_S, until

ROOT = Path(__file__).parents[2]
HTMX = Path(jinja.__file__).parent / "static" / "django_htmx"
SCRIPTS = {
    "htmx.js": HTMX / "htmx-2.min.js",
    "ws.js": HTMX / "ext" / "hx-ws-2.min.js",
    "idiomorph.js": ROOT / "static" / "vendor" / "idiomorph.min.js",
    **{file.name: file for file in (ROOT / "static" / "js").rglob("*.js")},
}
PAGE = """<!doctype html><html lang="en"><head><title>Frames</title>
<meta name="htmx-config" content='{"includeIndicatorStyles":false,"allowEval":false,"allowScriptTags":false}'>
<link rel="stylesheet" href="/page.css">
<script src="/htmx.js" defer></script><script src="/ws.js" defer></script>
<script src="/idiomorph.js" defer></script><script type="module" src="/morph.js"></script>
<script type="module" src="/times.js"></script>
<script type="module" src="/connection.js"></script>
<script type="module" src="/follow.js"></script>
<script type="module" src="/keyboard.js"></script></head>
<body><div hx-ext="ws,morph" ws-connect="/p/default/live/session">
<p data-connection><i class="dot dot-off"></i><span>Not live</span></p>
<button data-follow data-key="f" aria-pressed="false" aria-controls="pane">Follow</button>
<button data-unseen hidden></button><input id="search">
<div id="pane" tabindex="0">BODY</div></div></body></html>"""
CSS = "#pane { height: 300px; overflow-y: auto } section { height: 100px } section.tall { height: 900px }"
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'"


class Wire:
    """The server's end of the page's socket."""

    def __init__(self, page):
        self.page = page
        self.sockets = []
        self.acks = []
        self.number = 0
        self.is_away = False
        self.turns_away = 0  # so many sockets, before they are open

    def opened(self, socket):
        if self.is_away:
            socket.close(code=1011)
            return
        if self.turns_away:
            self.turns_away -= 1
            socket.close(code=1001)
            return
        socket.on_message(lambda message: self.acks.append(message))  # noqa: PLW0108  playwright marks what it is given
        self.sockets.append(socket)

    def send(self, html=""):
        """Send one frame and wait until the page has acknowledged it."""
        self.number += 1
        self.sockets[-1].send(f"<!--frame {self.number}-->{html}")
        self.until(lambda: f'{{"ack":{self.number}}}' in self.acks)

    def until(self, true):
        pause = self.page.wait_for_timeout  # lets the browser's messages in
        until(true, "the page did not answer", pause=lambda seconds: pause(1000 * seconds))


@pytest.fixture
def open_page(browser):
    """Return a function that opens a connected page with the given content."""
    contexts = []

    def open_page(body, turns_away=0):
        context = browser.new_context()
        context.set_default_timeout(1000 * LONGEST_S)
        contexts.append(context)
        page = context.new_page()
        page.route("http://frames.test/**", lambda route: _answer(route, body))
        wire = Wire(page)
        wire.turns_away = turns_away
        page.route_web_socket(re.compile("/live/"), wire.opened)
        page.errors = []
        page.on(
            "console", lambda message: page.errors.append(message.text) if message.type == "error" else None
        )
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.goto("http://frames.test/")
        wire.until(lambda: wire.sockets)
        return page, wire

    yield open_page
    for context in contexts:
        context.close()


def _answer(route, body):
    name = route.request.url.rsplit("/", 1)[-1]
    if name == "page.css":
        route.fulfill(body=CSS, content_type="text/css")
    elif name in SCRIPTS:
        route.fulfill(body=SCRIPTS[name].read_text(), content_type="text/javascript")
    elif name == "":
        headers = {"Content-Security-Policy": POLICY}
        route.fulfill(body=PAGE.replace("BODY", body), content_type="text/html", headers=headers)
    else:
        route.fulfill(status=404)


def panel(pk, body, extra="", oob=True):
    return f'<section id="x-{pk}"{" hx-swap-oob=morph" if oob else ""} {extra}>{body}</section>'


def turn(pk, oob=True, css=""):
    return panel(pk, f"turn {pk}", f'class="{css}" data-into="session-turns-1" data-order="{pk}"', oob)

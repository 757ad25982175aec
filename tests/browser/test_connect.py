"""The page Connect an agent: its lines, with the token that it makes, lead to the session."""

import json
import re
import subprocess
import sys

import pytest
from playwright.sync_api import expect

from tests.browser.axe import serious
from tests.recorder.journal.spans import captures
from tests.support.wait import LONGEST_S

SEND = """
import os, sys, urllib.error, urllib.parse, urllib.request
name, _, value = urllib.parse.unquote(os.environ["OTEL_EXPORTER_OTLP_HEADERS"]).partition("=")
url = os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] + "/v1/traces"
headers = {name: value, "Content-Type": "application/json"}
request = urllib.request.Request(url, sys.stdin.buffer.read(), headers)
try:
    print(urllib.request.urlopen(request).status)
except urllib.error.HTTPError as error:
    print(error.code)
"""

HEADINGS = {
    "Any OTLP sender": "Send from any OTLP sender",
    "Your own program": "Send from your own program",
    "curl": "Send with curl",
}


def sent(lines, body):
    """Send a body as a program does that knows only the variables of the page; return the status."""
    shell = f"{lines}\n{sys.executable} -c '{SEND}'"
    done = subprocess.run(["bash", "-c", shell], input=body, capture_output=True, check=True)
    return int(done.stdout)


@pytest.fixture
def project(server, request):
    slug = f"connect-{abs(hash(request.node.name)) % 10**8}"
    server.manage("project", "create", slug)
    return slug


def test_the_lines_of_the_page_lead_to_the_session_without_a_reload(window, project):
    page = window().open(f"/p/{project}/connect?agent=otlp")
    page.get_by_role("button", name="Create token").click()
    page.get_by_text("Shown once").wait_for()
    page.locator("[data-connection=live]").wait_for()
    expect(page.get_by_text("Waiting for the first span")).to_be_visible()
    lines = page.locator(".connect-snippet code").first.inner_text()

    for signal, body, _ in captures.bodies("frameworks/vercel-ai-sdk/06-sub-agent"):
        assert signal == "traces"
        assert sent(lines, body) == 200

    expect(page.get_by_text("Connected.")).to_be_visible()
    expect(page.get_by_text("4 turns")).to_be_visible()
    page.get_by_role("link", name="Open the session").click()
    page.wait_for_url(re.compile(rf"/p/{project}/sessions/\d+"))
    expect(page.get_by_text("ask_specialist").first).to_be_visible()


def test_a_request_that_is_refused_is_shown_at_once_with_its_reason(window, project):
    page = window().open(f"/p/{project}/connect?agent=otlp")
    page.get_by_role("button", name="Create token").click()
    page.locator("[data-connection=live]").wait_for()
    expect(page.locator(".connect-listening")).to_have_text(re.compile(r"Listening for \d+s"))
    lines = page.locator(".connect-snippet code").first.inner_text()

    assert sent(lines, b"[") == 400

    expect(page.get_by_text("Something arrived, but was refused.")).to_be_visible()
    expect(page.get_by_text("/v1/traces", exact=True)).to_be_visible()
    expect(page.locator(".connect-listening")).to_be_hidden()
    assert serious(page) == []

    for _, body, _ in captures.bodies("frameworks/vercel-ai-sdk/02-tool"):
        assert sent(lines, body) == 200
    expect(page.get_by_text("Connected.")).to_be_visible()
    expect(page.get_by_text("Something arrived, but was refused.")).to_be_hidden()


def test_every_sender_has_lines_with_the_address_of_this_server(window, server):
    page = window().open("/p/default/connect")
    names = page.get_by_role("navigation", name="Agents and frameworks").get_by_role("link").all_inner_texts()
    assert len(names) == 12
    for name in [each.split("\n")[-1] for each in names]:
        page.get_by_role("link", name=name, exact=True).click()
        heading = HEADINGS.get(name, f"Set up {name}")
        expect(page.get_by_role("heading", name=heading)).to_be_visible()
        text = "\n".join(page.locator(".connect-snippet code").all_inner_texts())
        assert server.url in text
        assert json.dumps(text).count("TOKEN_HERE") == 0
    assert page.goto(f"{server.url}/p/default/connect?agent=none").status == 404


@pytest.mark.parametrize("place", ["sessions", "settings", "costs", "attention"])
def test_connect_an_agent_is_one_click_or_two_keys_away(window, place):
    page = window().open(f"/p/default/{place}")
    page.get_by_role("link", name="Connect an agent").first.click()
    expect(page.get_by_role("heading", name="Connect an agent", exact=True)).to_be_visible()

    page.go_back()
    page.locator("[data-connection=live]").wait_for()
    page.keyboard.press("g")
    page.keyboard.press("k")
    expect(page.get_by_role("heading", name="Connect an agent", exact=True)).to_be_visible()


PROGRAMS = {
    "curl": ("curl", "Shell", ["sh", "-s"], "Hello."),
    "Python": ("events", "Or: Python, without a package", [sys.executable, "-"], "Hello."),
    "client": ("events", "Python", [sys.executable, "-"], "Soup."),
    "WebSocket": (
        "events",
        "Or: Python over a WebSocket, word by word (pip install websockets)",
        [sys.executable, "-"],
        "Hello, this arrives word by word.",
    ),
}


@pytest.mark.parametrize("way", PROGRAMS)
def test_a_program_runs_as_it_is_shown_and_a_tick_says_that_it_works(window, project, way):
    sender, label, command, answer = PROGRAMS[way]
    page = window().open(f"/p/{project}/connect?agent={sender}")
    page.get_by_role("button", name="Create token").click()
    page.locator("[data-connection=live]").wait_for()
    expect(page.get_by_text("Waiting for the first event")).to_be_visible()
    expect(page.locator(".step-done")).to_be_hidden()

    program = page.get_by_label(label, exact=True).inner_text()
    done = subprocess.run(
        command, input=program, capture_output=True, text=True, timeout=LONGEST_S, check=False
    )

    assert done.returncode == 0, done.stderr
    expect(page.get_by_text("Connected.")).to_be_visible()
    expect(page.locator(".step-done svg")).to_be_visible()
    page.get_by_role("link", name="Open the session").click()
    expect(page.get_by_text(answer).first).to_be_visible()


def test_what_is_copied_is_what_is_shown(window):
    watched = window(permissions=["clipboard-read", "clipboard-write"])
    page = watched.open("/p/default/connect?agent=curl")
    page.locator(".connect-snippet").get_by_role("button", name="Copy").click()

    expect(page.locator(".connect-snippet").get_by_role("button", name="Copied")).to_be_visible()
    shown = page.locator(".connect-snippet code").inner_text()
    assert page.evaluate("navigator.clipboard.readText()").strip() == shown.strip()

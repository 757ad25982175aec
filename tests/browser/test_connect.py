"""The page Connect an agent: its lines, with the token that it makes, lead to the session."""

import json
import re
import subprocess
import sys

import pytest
from playwright.sync_api import expect

from tests.browser.axe import serious
from tests.recorder.journal.spans import captures

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
    expect(page.get_by_text("Waiting for the first session")).to_be_visible()
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
    assert len(names) == 11
    for name in [each.split("\n")[-1] for each in names]:
        page.get_by_role("link", name=name, exact=True).click()
        expect(page.get_by_role("heading", name=f"Set up {name}")).to_be_visible()
        text = "\n".join(page.locator(".connect-snippet code").all_inner_texts())
        assert server.url in text
        assert json.dumps(text).count("TOKEN_HERE") == 0
    assert page.goto(f"{server.url}/p/default/connect?agent=none").status == 404

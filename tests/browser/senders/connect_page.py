"""The steps of a person on the page Connect an agent."""

import json
import re
import urllib.request

from playwright.sync_api import expect


def open_with_token(window, server, sender, project):
    """Create a project and, on the page of a sender, a token; return the page, which is live."""
    server.manage("project", "create", project)
    page = window().open(f"/p/{project}/connect?agent={sender}")
    page.get_by_role("button", name="Create token").click()
    page.get_by_text("Shown once").wait_for()
    page.locator("[data-connection=live]").wait_for()
    return page


def snippets(page):
    """Return the lines to copy, by their labels."""
    blocks = page.locator(".connect-snippet")
    labels = blocks.locator("pre").evaluate_all("all => all.map((one) => one.getAttribute('aria-label'))")
    return dict(zip(labels, blocks.locator("code").all_inner_texts(), strict=True))


def open_session(page, project, *, turns):
    """Wait until the page shows a session with a number of turns, and open it."""
    expect(page.get_by_text("Connected.")).to_be_visible()
    expect(page.get_by_text(f"{turns} turns")).to_be_visible()
    page.get_by_role("link", name="Open the session").click()
    page.wait_for_url(re.compile(rf"/p/{project}/sessions/\d+"))


def sessions(server, project):
    """Return the sessions of a project as the read API has them."""
    words = ("--project", project, "--scopes", "read", "--name", "reads")
    headers = {"Authorization": f"Bearer {server.manage('token', 'create', *words)}"}
    request = urllib.request.Request(f"{server.url}/api/v1/sessions", headers=headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["items"]

"""A page of a loop in whose place a transcript puts another one goes to its session by itself."""

import urllib.request

from playwright.sync_api import expect

from tests.recorder.journal.spans.pairs import BOTH, TAPES, transcripts
from tests.support.wait import until


def send_telemetry(server):
    """Send the spans and log records of a run of Claude Code; return its session once all are read."""
    for path in sorted((TAPES / "both/claude-code").glob("*.json")):
        headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
        url = f"{server.url}/v1/{path.stem.partition('-')[2]}"
        with urllib.request.urlopen(urllib.request.Request(url, path.read_bytes(), headers)) as answer:
            assert answer.status == 200

    def complete():
        sessions = server.read("/api/v1/sessions")["items"]
        return [each for each in sessions if each["source"] == "otlp" and each["turns"] == 3]

    (session,) = until(complete)
    return session


def test_the_page_shows_the_loop_in_its_place(window, server):
    session = send_telemetry(server)
    watched = window()
    page = watched.open(session["url"])
    page.locator("[data-connection=live]").wait_for()
    replaced = page.locator(".loop-header").get_attribute("id")

    for producer, lines in transcripts(BOTH).items():
        server.agent(producer, form="claude-code").send(*lines)

    expect(page.locator(".loop-header")).not_to_have_id(replaced)
    expect(page.locator(".turn").get_by_text("And tomorrow?")).to_be_visible()
    page.locator("[data-connection=live]").wait_for()
    assert page.locator(".turn").count() == 1
    assert watched.faults == []

"""Spans with markup in every text run nothing in a browser, on no tab of their sessions, live or after."""

import json
import urllib.request

from tests.recorder.ingest.otlp.test_hostile_spans import HOSTILE, chat, messages, traces
from tests.support.wait import until

TABS = ("conversation", "timeline", "events", "json")


def send(server, *spans):
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
    body = json.dumps(traces(*spans)).encode()
    request = urllib.request.Request(f"{server.url}/v1/traces", body, headers)
    with urllib.request.urlopen(request) as answer:
        assert answer.status == 200
    until(lambda: behind(server) is None, "the spans are not read")


def behind(server):
    """Return for how long spans have been waiting to be read, None if none wait."""
    headers = {"Authorization": f"Bearer {server.token}"}
    request = urllib.request.Request(f"{server.url}/api/v1/sessions?limit=1", headers=headers)
    with urllib.request.urlopen(request) as answer:
        return answer.headers["Loopscope-Behind-Seconds"]


def test_nothing_of_a_span_is_executed(window, server):
    watched = window()
    named = {"gen_ai__conversation__id": "hostile spans"}
    send(server, chat(1, {**named, "gen_ai__input__messages": messages("Hostile spans.")}))
    page = watched.open("/p/default/sessions")
    page.locator("[data-connection=live]").wait_for()
    page.get_by_text("Hostile spans.").first.wait_for()  # the list gets the rest live
    send(server, *(span for span, is_stored in HOSTILE.values() if is_stored))

    found = server.read("/api/v1/sessions")["items"]
    addresses = [each["url"] for each in found if each["source"] == "otlp"]
    assert addresses
    assert page.evaluate("window.__pwned") is None
    for address in addresses:
        for tab in TABS:
            page = watched.open(f"{address}?tab={tab}")
            assert page.evaluate("window.__pwned") is None
    assert watched.faults == []
    assert watched.violations() == []

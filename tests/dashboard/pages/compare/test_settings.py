"""Settings of compared sessions: their configs, and system prompts and tools of their first requests."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from dashboard.pages.compare.figures import TIMES
from dashboard.pages.compare.queries import requests
from dashboard.pages.compare.requests import SHOWN, read_request, request_differences
from dashboard.rendering.number_format import NONE
from recorder.journal import append
from recorder.models import JournalEvent, Session
from recorder.operations import retention
from tests.dashboard.pages.compare.conftest import row, text
from tests.support import build

LONG = "Follow the guide. " * 100
BASH = {"name": "bash", "description": "Run a command.", "parameters": {}}
READ = {"name": "read_file", "description": "Read a file.", "parameters": {}}


def requested(loop, *, prompt="", tools=(), **config):
    """Return the events of a loop with a config and with a recorded request."""
    start, turn, *rest = build.small_loop(
        loop, config_snapshot={"model": "claude-sonnet-4-6", "provider": "anthropic", **config}
    )
    request = build.turn_request(loop)
    request["payload"] |= {"system_prompt": prompt, "tools": list(tools)}
    return [start, turn, request, *rest]


def compared(client):
    pks = Session.objects.order_by("pk").values_list("pk", flat=True)
    answer = client.get("/p/default/sessions/compare?" + "&".join(f"of={pk}" for pk in pks))
    assert answer.status_code == 200
    return answer.content.decode()


def identical(html):
    found = re.search(r"<details class=\"same-values\">(.*?)</details>", html, re.S)
    return text(found[1]) if found else ""


def test_settings_that_differ_are_rows_and_equal_ones_are_folded(client, see, feed):
    feed(*requested("one.a.1", temperature=0.1, max_tokens=8192))
    feed(*requested("two.a.1", temperature=0.9, max_tokens=8192))
    see()
    html = compared(client)
    assert "<h2>Settings that differ</h2>" in html
    assert row(html, "Temperature")[0].startswith("0.1")
    assert row(html, "Temperature")[1].startswith("0.9")
    assert html.count("different-value") == 1
    assert "Max output 8.2k" in identical(html)
    assert "Provider anthropic" in identical(html)


def test_all_values_of_a_session_with_several_configs_are_shown(client, see, feed):
    feed(*requested("one.a.1", temperature=0.1), *requested("one.a.2", temperature=0.5))
    feed(*requested("two.a.1", temperature=0.1))
    see()
    assert row(compared(client), "Temperature") == ["0.1, 0.5", "0.1"]


def test_system_prompts_are_shown_around_their_first_difference(client, see, feed):
    feed(*requested("one.a.1", prompt=LONG + "Answer in English."))
    feed(*requested("two.a.1", prompt=LONG + "Answer in French."))
    see()
    one, two = row(compared(client), "System prompt")
    assert one.startswith("…")
    assert "Answer in English." in one
    assert "Answer in French." in two
    assert len(one) < SHOWN + 20


def test_tools_that_were_offered_and_called_are_named(client, see, feed):
    loop = "one.a.1"
    feed(*requested(loop, tools=[READ, BASH]))
    calls = [
        event for n in range(2) for event in (build.tool_start(loop, f"c{n}"), build.tool_end(loop, f"c{n}"))
    ]
    start, turn, request, *rest = requested("two.a.1", tools=[BASH | {"description": "Run it."}])
    feed(start, turn, request, *(event | {"loop_id": "two.a.1"} for event in calls), *rest)
    see()
    html = compared(client)
    one, two = row(html, "Tools")
    assert one == "bash, read_file Request"
    assert two == "bash (other definition) Request"
    assert row(html, "Tools called") == [NONE, f"bash {TIMES}2"]


def test_equal_requests_are_folded_and_unknown_ones_are_not_compared(client, see, feed):
    feed(*requested("one.a.1", prompt="You cook.", tools=[BASH]), *build.small_loop("three.a.1"))
    feed(*requested("two.a.1", prompt="You cook.", tools=[BASH]))
    see()
    html = compared(client)
    assert "System prompt You cook. Tools bash" in identical(html)
    assert "different-value" not in html


def test_a_request_that_is_pruned_or_too_large_is_named(client, see, feed, project, monkeypatch):
    now = timezone.now()
    feed(*requested("one.a.1", prompt="You cook."), received_at=now - timedelta(days=40))
    append.mark_consolidated(list(JournalEvent.objects.values_list("pk", flat=True)), now)
    retention.prune(project, now)
    feed(*requested("two.a.1", prompt="You bake."), *requested("three.a.1", prompt="You fry."))
    see()
    assert row(compared(client), "System prompt") == ["pruned", "You bake. Request", "You fry. Request"]
    monkeypatch.setattr(requests, "READ_BYTES", 10)
    assert "System prompt" not in compared(client)


@pytest.mark.parametrize(
    "payload", [{}, {"system_prompt": 7, "tools": "bash"}, {"tools": [None, 7, {"name": []}]}]
)
def test_a_request_of_unknown_form_is_no_fault(payload):
    found = read_request({"type": "TurnRequest", "payload": payload}, "")
    assert found.prompt == ""
    assert request_differences([found, None, found])[0] == []
    assert read_request({"type": "span"}, "") is None


def test_a_request_that_says_that_its_parts_are_not_recorded_is_not_compared():
    def read(payload):
        return read_request({"type": "TurnRequest", "payload": payload}, "")

    system = [{"type": "text", "text": "You cook."}, {"type": "text", "text": "Be brief."}]
    assert read({"model_id": "m", "is_exact": False}) is None
    assert read({"is_exact": False, "system": system}).prompt == "You cook.\n\nBe brief."


def test_hostile_text_of_requests_is_escaped(client, see, feed):
    markup = "<img src=x onerror=alert(1)>"
    feed(*requested("one.a.1", prompt=markup, tools=[{"name": markup}], temperature=markup))
    feed(*requested("two.a.1", prompt="You cook."))
    see()
    html = compared(client)
    assert markup not in html
    assert row(html, "System prompt")[0].startswith(markup)

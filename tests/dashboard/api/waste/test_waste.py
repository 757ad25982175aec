"""The list of waste in the read API."""

import pytest

from recorder.models import Project, ToolCall, Waste
from recorder.waste import follower
from tests.dashboard.repeated_calls import repeating


@pytest.fixture
def found(feed):
    """Record loops that repeat themselves, in two sessions."""
    feed(*repeating("s.a.1", times=4), *repeating("t.a.1", times=3, name="find"))
    follower.run_all()


def test_an_item_has_what_was_found_with_its_cost_and_places(found, get):
    first, second = get("waste")["items"]

    call = ToolCall.objects.filter(loop__session__session_id="s").order_by("pk")
    assert {name: first[name] for name in ("session_id", "rule", "name", "times", "calls", "unpriced")} == {
        "session_id": "s",
        "rule": "same_call",
        "name": "grep",
        "times": 4,
        "calls": 3,
        "unpriced": 0,
    }
    assert (first["tokens"], first["cost_usd"]) == (3000, "0.009")
    assert (first["first_event"], first["alarm_event"]) == (call[0].end_event, call[3].end_event)
    assert [url.partition("#")[2] for url in first["urls"]] == [
        f"session-tool-{each.pk}" for each in call[1:]
    ]
    assert (second["times"], second["alarm_event"], second["alarmed_at"]) == (3, None, None)


def test_filters_narrow_and_pages_follow_each_other(found, get):
    assert [item["session_id"] for item in get("waste", session="t")["items"]] == ["t"]
    assert get("waste", session="unknown")["items"] == []
    assert [item["session_id"] for item in get("waste", alarms="1")["items"]] == ["s"]
    assert [item["session_id"] for item in get("waste", q="session:t")["items"]] == ["t"]
    assert get("waste", rule="reread")["total"] == 0
    assert get("waste", since="2100-01-01T00:00:00Z")["total"] == 0
    assert get("waste", since="2026-01-01T00:00:00Z")["total"] == 2
    page = get("waste", limit=1)
    assert (page["total"], page["next"]) == (2, str(Waste.objects.earliest("pk").pk))
    assert [item["session_id"] for item in get("waste", limit=1, cursor=page["next"])["items"]] == ["t"]


def test_an_unknown_rule_is_refused_and_other_projects_are_not_listed(found, get):
    assert "rule" in get("waste", rule="other", expect=400)["message"]
    Waste.objects.update(project=Project.objects.create(slug="other"))
    assert get("waste")["items"] == []

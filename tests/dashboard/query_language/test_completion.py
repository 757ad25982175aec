"""Completion of keys and values in the query box."""

import json

import pytest
from django.contrib.auth.models import User

from dashboard.query_language import parse
from dashboard.query_language.completion import place
from dashboard.query_language.keys import KEYS
from recorder.models import Project
from tests.dashboard.pages.session.conftest import feed, project
from tests.support import build
from tests.support.small_loop import Loop

__all__ = ["feed", "project"]


@pytest.fixture
def complete(feed, project, admin_client):
    feed(*build.handed_over())
    first = Loop("s")
    feed(first.start() | {"metadata": {"team": "core", "user": "ada"}}, first.turn(), first.tool("t", "edit"))
    feed({"type": "SessionInfo", "session_id": "s", "tags": ["night ly"]})

    def complete(text, at=None):
        answer = admin_client.get("/p/default/complete", {"q": text, "at": len(text) if at is None else at})
        assert answer.status_code == 200
        found = json.loads(answer.content)
        return [text[: found["from"]] + item["text"] + text[found["to"] :] for item in found["items"]]

    return complete


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sta", ["status:"]),
        ("a -sta", ["a -status:"]),
        ("(tool.", ["(tool.error:", "(tool.arg:"]),
        ("status:fa", ["status:failed"]),
        ("status:[failed,ca", ["status:[failed,cancelled"]),
        ("tool:e", ["tool:edit"]),
        ("!tool:e", ["!tool:edit"]),
        ("tag:n", ['tag:"night ly"']),
        ('tag:"n', ['tag:"night ly"']),
        ("user:", ["user:ada"]),
        ("metadata.t", ["metadata.team:"]),
        ("metadata.team:c", ["metadata.team:core"]),
        ("cost:", ["cost:>1.50"]),
        ("cost:>2", []),
        ("tool.error:", ["tool.error:true", "tool.error:false"]),
        ("is:pin", ["is:pinned"]),
        ("nokey:x", []),
        ('"a phrase sta', []),
        ('"a phrase" sta', ['"a phrase" status:']),
        ("status:failed ", ["status:failed status:", "status:failed outcome:"]),
    ],
)
def test_what_is_typed_is_completed(complete, text, expected):
    found = complete(text)
    assert found == expected or (expected and found[: len(expected)] == expected)
    for query in found:
        if not query.endswith(":") and "[" not in query:
            parse(query)


def test_only_the_text_before_the_cursor_is_replaced(complete):
    assert complete("tool:e cost:>1", 6) == ["tool:edit cost:>1"]


def test_every_key_is_offered_and_read_within_bounds(complete, django_assert_max_num_queries):
    assert complete("")[:2] == ["status:", "outcome:"]
    for key in KEYS:
        name = f"{key}x" if key.endswith(".") else key
        with django_assert_max_num_queries(7):
            complete(f"{name}:")
        with django_assert_max_num_queries(7):
            complete(f"{name}:a")


@pytest.mark.parametrize(
    "text", ["", "\0", "((((", '"' * 50, "a" * 3_000, "tool:[" * 200, "é:", "-", "metadata.:"]
)
def test_no_text_is_an_error(complete, text):
    for at in (0, 1, len(text), 10**17):
        complete(text, at)


def test_values_of_other_projects_are_not_offered_and_outsiders_see_none(complete, client, project):
    Project.objects.create(slug="other")
    client.force_login(User.objects.create_user("outsider"))
    assert client.get("/p/default/complete?q=tool:").status_code == 404
    admin = User.objects.create_superuser("root")
    client.force_login(admin)
    for text in ("tool:", "agent:", "model:", "tag:", "user:", "metadata."):
        assert client.get("/p/other/complete", {"q": text}).json()["items"] == []


def test_the_place_of_a_key_or_a_value():
    assert place("a b:", 4) is None
    assert place("cost:", 2).typed == "co"
    assert place("tool:[a,b", 9).typed == "b"

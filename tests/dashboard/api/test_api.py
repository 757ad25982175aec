"""The read API: authentication, error responses, pagination, session ids."""

import json
from urllib.parse import quote, unquote

import pytest
from asgiref.sync import async_to_sync
from channels.testing import HttpCommunicator
from django.contrib.auth.models import User
from django.core.asgi import get_asgi_application

from recorder.access import tokens
from recorder.models import Project
from tests.support.small_loop import Loop
from tests.support.wait import LONGEST_S

ENDPOINTS = (
    "sessions",
    "loops",
    "groups",
    "tool-calls",
    "configs",
    "compactions",
    "approvals",
    "quarantine",
    "openapi.json",
)


@pytest.mark.parametrize("path", ENDPOINTS)
def test_a_request_without_token_or_session_cookie_is_unauthorized(client, project, path):
    response = client.get(f"/api/v1/{path}")
    assert (response.status_code, response.json()["code"]) == (401, "unauthorized")
    assert response["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("bearer", ["Bearer lsk_x_y", "Bearer ", "Basic YTpi", "Bearer \x7f"])
def test_an_unknown_token_is_unauthorized(client, project, bearer):
    assert client.get("/api/v1/sessions", headers={"Authorization": bearer}).status_code == 401


def test_a_token_with_scope_ingest_only_is_forbidden(client, project):
    bearer = f"Bearer {tokens.issue(project, 'sends', ['ingest'])}"
    response = client.get("/api/v1/sessions", headers={"Authorization": bearer})
    assert (response.status_code, response.json()["code"]) == (403, "forbidden")


@pytest.mark.parametrize("path", ENDPOINTS)
def test_every_endpoint_answers_a_token_with_scope_read(get, path):
    assert get(path)


def test_a_signed_in_user_reads_their_own_projects_only(client, project, feed):
    user = User.objects.create_user("reader")
    client.force_login(user)
    feed(Loop("ours").start())
    assert client.get("/api/v1/sessions").status_code == 404
    project.memberships.create(user=user)
    assert client.get("/api/v1/sessions?project=default").json()["total"] == 1
    assert client.get("/api/v1/sessions?project=other").status_code == 404


def test_records_of_another_project_are_not_found(get, feed):
    other = Project.objects.create(slug="other")
    theirs = Loop("theirs")
    feed(theirs.start(), theirs.end(), into=other)
    pk = other.sessions.get().loop_records.get().pk

    for path in ("sessions/theirs", "sessions/theirs/events", "sessions/theirs/export", f"loops/{pk}"):
        assert get(path, expect=404)["code"] == "not_found"
    assert get("sessions")["total"] == get("loops")["total"] == 0


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("sessions", {"limit": 201}),
        ("sessions", {"limit": "many"}),
        ("sessions", {"cursor": "yesterday"}),
        ("sessions", {"cursor": "999999999999999999-1"}),
        ("sessions", {"since": "yesterday"}),
        ("sessions", {"since": "2026-01-01T00:00:00"}),
        ("sessions", {"since": "0001-01-01T00:00:00+14:00"}),
        ("sessions", {"status": "asleep"}),
        ("sessions", {"sort": "expensive"}),
        ("sessions", {"min_cost": "much"}),
        ("sessions", {"min_cost": "-1"}),
        ("sessions", {"min_cost": "NaN"}),
        ("sessions", {"cursor": "c9223372036854775808-1", "sort": "cost"}),
        ("sessions", {"cursor": "c1-1"}),
        ("sessions", {"cursor": "1-1", "sort": "-cost"}),
        ("sessions", {"cursor": "1"}),
        ("usage", {"group_by": "tool"}),
        ("usage", {"since": "yesterday"}),
        ("sessions", {"q": "a\0b"}),
        ("loops", {"cursor": "9223372036854775808"}),
        ("loops/9223372036854775808", {}),
        ("loops", {"session_id": "a\0b"}),
    ],
)
def test_an_invalid_parameter_is_a_400_with_a_message(get, path, query):
    problem = get(path, expect=400, **query)
    assert problem["code"] == "bad_query"
    assert problem["message"]


@pytest.mark.parametrize(
    "name", "status outcome agent model config q since until min_cost sort cursor limit".split()
)
def test_an_empty_parameter_is_ignored(get, feed, name):
    feed(Loop("s").start())
    assert get("sessions", **{name: ""})["total"] == 1


def test_a_project_or_session_id_with_nul_is_not_found_on_any_database(client, project):
    client.force_login(User.objects.create_superuser("root"))

    for path in ("sessions?project=%00", "sessions/a%00b", "sessions/%00/events", "sessions/%00/export"):
        assert client.get(f"/api/v1/{path}").status_code == 404


@pytest.mark.parametrize("path", ["nothing", "sessions/none", "loops/1", "groups/1", "sessions/"])
def test_an_unknown_path_or_record_is_a_404_in_json(get, path):
    assert get(path, expect=404)["code"] == "not_found"


def test_the_openapi_document_has_every_endpoint(get):
    document = get("openapi.json")
    assert {"/api/v1/sessions", "/api/v1/loops/{pk}", "/api/v1/groups"} <= set(document["paths"])
    assert document["paths"]["/api/v1/lifecycle"]["get"]["responses"].keys() == {
        "200",
        "401",
        "403",
        "404",
        "503",
    }
    json.dumps(document)


def test_pages_follow_each_other_without_gaps_or_repeats(get, feed):
    for name in "abcdefg":
        feed(Loop(name).start())
    for path, name in (("sessions", "session_id"), ("loops", "session_id")):
        seen, cursor = [], None
        while True:
            page = get(path, limit=3, **({"cursor": cursor} if cursor else {}))
            assert page["total"] == 7
            seen += [item[name] for item in page["items"]]
            cursor = page["next"]
            if cursor is None:
                break
        assert sorted(seen) == list("abcdefg")
    assert seen == list("abcdefg")


@pytest.mark.parametrize("sort", ["-activity", "activity", "-created", "created"])
def test_sessions_are_sorted_by_the_sort_parameter(get, feed, sort):
    for name in "abc":
        feed(Loop(name).start())
    order = [item["session_id"] for item in get("sessions", sort=sort)["items"]]
    assert order == list("cba" if sort.startswith("-") else "abc")


NAMES = ["a/b", "a//b", "/a", "a b?c#d%25", "ß€😀", "a.b:c@d;e=f", "x/events", "x/export", "events", "..%2f"]


@pytest.mark.parametrize("name", NAMES)
def test_a_session_is_found_by_an_id_with_any_characters(get, feed, name):
    feed(Loop(name).start())
    path = f"sessions/{quote(name, safe='')}"
    assert get(path)["session_id"] == name
    assert b"".join(get(f"{path}/events").streaming_content).count(b"\n") == 1
    assert get(f"{path}/export")["session_id"] == name


@pytest.mark.django_db(transaction=True)
def test_an_id_that_ends_like_an_endpoint_is_distinguished_by_its_encoding(project, feed):
    feed(Loop("x").start(), Loop("x/events").start())
    bearer = f"Bearer {tokens.issue(project, 'reads', ['read'])}"

    @async_to_sync
    async def read(raw_path):
        headers = [(b"authorization", bearer.encode()), (b"host", b"localhost")]
        communicator = HttpCommunicator(get_asgi_application(), "GET", unquote(raw_path), headers=headers)
        communicator.scope["raw_path"] = raw_path.encode()
        await communicator.send_input({"type": "http.request", "body": b""})
        parts = [await communicator.receive_output(LONGEST_S)]
        while parts[-1]["type"] == "http.response.start" or parts[-1].get("more_body"):
            parts.append(await communicator.receive_output(LONGEST_S))
        await communicator.wait(LONGEST_S)
        return json.loads(b"".join(part.get("body", b"") for part in parts))

    assert read("/api/v1/sessions/x%2Fevents")["session_id"] == "x/events"
    assert read("/api/v1/sessions/x/events")["type"] == "AgentStart"

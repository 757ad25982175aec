"""Refused requests are kept for the page Connect an agent: the newest of each token and error code."""

import pytest
from channels.db import database_sync_to_async

from recorder.access import refusals as module
from recorder.access import tokens
from recorder.models import Project, Refusal
from tests.support.endpoint_clients import HOST, Client, request

PROTOBUF = "application/x-protobuf"


@pytest.fixture(autouse=True)
def _write_each(monkeypatch):
    monkeypatch.setattr(module, "EVERY_S", 0.0)
    monkeypatch.setattr(module.refusals, "_held", {})


def send(path, token="", body=b"", media="application/json", method="POST"):
    given = [(b"content-type", media.encode())]
    if token:
        given.append((b"authorization", f"Bearer {token}".encode()))
    return request(path, body, method=method, headers=[HOST, *given]).status


def stored():
    rows = Refusal.objects.order_by("pk").values_list("project__slug", "key", "code", "status", "path")
    return list(rows)


def key_of(token):
    return token.split("_")[1]


def test_the_refusal_of_a_revoked_token_belongs_to_its_project(project):
    other = Project.objects.create(slug="other")
    token = tokens.issue(other, "t", ["ingest"])
    tokens.revoke(token)

    assert send("/v1/traces", token, b"{}") == 401
    assert send("/v1/traces", "lsk_unknown_0", b"{}") == 401
    assert send("/v1/traces", "", b"{}") == 401
    assert stored() == [("other", key_of(token), "unauthorized", 401, "/v1/traces")]


def test_a_request_with_an_unknown_token_is_stored_if_there_is_one_project(project):
    assert send("/v1/logs", "lsk_unknown_0", b"{}") == 401
    assert send("/ingest/v1/events", "no token at all") == 401
    assert stored() == [("default", "", "unauthorized", 401, "/ingest/v1/events")]


@pytest.mark.parametrize(
    ("path", "media", "body", "status", "code"),
    [
        ("/v1/traces", "text/plain", b"{}", 415, "bad_media_type"),
        ("/v1/traces", PROTOBUF, b"\xff\xff", 400, "bad_body"),
        ("/v1/traces", "application/json", b"[", 400, "bad_body"),
        ("/v1/traces/v1/traces", PROTOBUF, b"", 404, "not_found"),
        ("/", PROTOBUF, b"", 404, "not_found"),
        ("/ingest/v1/events", "text/plain", b"", 415, "bad_media_type"),
    ],
)
def test_the_reason_is_stored(project, path, media, body, status, code):
    token = tokens.issue(project, "t", ["ingest"])

    assert send(path, token, body, media) == status
    assert stored() == [("default", key_of(token), code, status, path)]


def test_a_token_of_another_scope_is_stored(project):
    token = tokens.issue(project, "t", ["read"])
    assert send("/v1/traces", token, b"{}") == 403
    assert stored() == [("default", key_of(token), "forbidden", 403, "/v1/traces")]


async def test_a_refused_socket_is_stored(project):
    async with Client("lsk_unknown_0") as client:
        assert await client.code() == 4401
    assert await database_sync_to_async(stored)() == [("default", "", "unauthorized", 4401, "/ingest/v1/ws")]


def test_what_is_accepted_or_read_is_not_stored(project):
    token = tokens.issue(project, "t", ["ingest"])
    assert send("/v1/traces", token, b"{}") == 200
    assert send("/v1/traces", token, method="GET") == 405
    assert send("/api/v1/none", token, method="GET") == 403
    assert stored() == []


def test_paths_and_messages_of_senders_are_stored_on_any_database(project):
    token = tokens.issue(project, "t", ["ingest"])
    path = "/v1/traces/\x00\u202e<script>" + "x" * 500

    assert send(path, token, media=PROTOBUF) == 404
    (found,) = Refusal.objects.all()
    assert found.path == ("/v1/traces/\ufffd\ufffd<script>" + "x" * 500)[:200]
    assert len(found.message) <= 300


def test_a_wrong_url_is_answered_with_the_right_one(project):
    answer = request("/", b"", method="POST", headers=[HOST, (b"content-type", PROTOBUF.encode())])
    assert answer.json["message"].endswith("Spans are sent to /v1/traces, log records to /v1/logs.")


def test_many_refusals_cost_few_writes(project, monkeypatch, django_assert_num_queries):
    monkeypatch.setattr(module, "EVERY_S", 3600.0)
    noted = module.Refusals()
    refused = module.RefusedRequest("", "/v1/traces", 401, "unauthorized", "no")
    noted.add(refused)
    with django_assert_num_queries(0):
        for n in range(10 * module.HELD):
            noted.add(module.RefusedRequest(f"lsk_{n}_0", "/v1/traces", 401, "unauthorized", "no"))
    assert len(noted._held) == module.HELD

    monkeypatch.setattr(module, "EVERY_S", 0.0)
    noted.add(refused)
    assert stored() == [("default", "", "unauthorized", 401, "/v1/traces")]


def test_an_invalidation_is_published(project, invalidations):
    send("/v1/traces", "", b"{}")
    assert [each for each in invalidations if each.refused and each.project == project.pk]

"""Where a request goes, and what programs are told at doors that do not exist or are opened otherwise."""

import pytest

from recorder.access import tokens
from recorder.models import Project
from tests.support.endpoint_clients import HOST, request


def read(path, method, *more):
    return request(path, method=method, headers=(HOST, *more))


@pytest.mark.parametrize(
    "path", ["/api", "/api/", "/api/v1", "/api/v1/", "/api/v2/sessions", "/ingest/v1/event"]
)
def test_a_program_at_no_door_is_told_so_in_json(path):
    answer = read(path, "GET")

    assert (answer.status, answer.json["code"]) == (404, "not_found")


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
def test_the_read_api_is_only_read(method):
    answer = read("/api/v1/sessions", method)

    assert (answer.status, answer.json["code"]) == (405, "bad_method")
    assert answer.headers["allow"] == "GET, HEAD"


@pytest.mark.django_db(transaction=True)
def test_the_head_of_an_answer_is_that_of_the_answer():
    token = tokens.issue(Project.objects.create(slug="default"), "reads", ["read"])
    bearer = (b"authorization", f"Bearer {token}".encode())

    for path, given in (
        ("/api/v1/sessions", [bearer]),
        ("/api/v1/sessions", []),
        ("/api/v1/sessions/x", [bearer]),
    ):
        head, whole = read(path, "HEAD", *given), read(path, "GET", *given)
        assert (head.status, head.headers) == (whole.status, whole.headers)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("path", ["/api/v1/sessions", "/p/default/sessions"])
def test_no_cache_on_the_way_may_keep_what_somebody_was_shown(path):
    assert read(path, "GET").headers["cache-control"] == "private, no-cache"


def test_the_socket_of_the_ingest_door_says_how_it_is_opened():
    answer = read("/ingest/v1/ws", "GET")

    assert (answer.status, answer.headers["upgrade"]) == (426, "websocket")


@pytest.mark.parametrize("path", ["/api/v1/sessions", "/ingest/v1/events", "/healthz"])
def test_a_foreign_host_is_told_no_more_than_that(path):
    answer = request(path, headers=[(b"host", b"evil.example")])

    assert (answer.status, answer.json["code"]) == (400, "bad_host")

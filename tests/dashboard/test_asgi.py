"""HTTP routing: errors of unknown paths, wrong methods and foreign hosts as JSON."""

import pytest
from django.http import HttpRequest, HttpResponse

from dashboard.api.app import api
from dashboard.security.csp import ContentSecurityPolicy
from recorder.access import tokens
from recorder.models import Project
from tests.support.endpoint_clients import HOST, request


def read(path, method, *more):
    return request(path, method=method, headers=(HOST, *more))


@pytest.mark.parametrize(
    "path", ["/api", "/api/", "/api/v1", "/api/v1/", "/api/v2/sessions", "/ingest/v1/event"]
)
def test_an_unknown_path_of_a_program_is_a_404_in_json(path):
    response = read(path, "GET")

    assert (response.status, response.json["code"]) == (404, "not_found")


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
def test_the_read_api_is_read_only(method):
    response = read("/api/v1/sessions", method)

    assert (response.status, response.json["code"]) == (405, "bad_method")
    assert response.headers["allow"] == "GET, HEAD"


def test_a_method_that_a_path_of_the_api_lacks_is_a_405_with_those_it_has():
    for path, operations in api.get_openapi_schema()["paths"].items():
        methods = {method.upper() for method in operations} | ({"HEAD"} if "get" in operations else set())
        for method in {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} - methods:
            response = read(path.replace("{", "").replace("}", ""), method)

            assert response.status == 405, (method, path)
            assert set(response.headers["allow"].split(", ")) == methods
            assert method == "HEAD" or response.json["code"] == "bad_method"


@pytest.mark.django_db(transaction=True)
def test_a_head_request_has_the_headers_of_get():
    token = tokens.issue(Project.objects.create(slug="default"), "reads", ["read"])
    bearer = (b"authorization", f"Bearer {token}".encode())

    for path, headers in (
        ("/api/v1/sessions", [bearer]),
        ("/api/v1/sessions", []),
        ("/api/v1/sessions/x", [bearer]),
    ):
        head, full = read(path, "HEAD", *headers), read(path, "GET", *headers)
        assert (head.status, head.headers) == (full.status, full.headers)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("path", ["/api/v1/sessions", "/p/default/sessions"])
def test_responses_may_not_be_stored_by_shared_caches(path):
    assert read(path, "GET").headers["cache-control"] == "private, no-cache"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("path", ["/api/v1/sessions", "/p/default/sessions", "/nowhere"])
def test_no_response_is_stored_if_that_is_set(settings, path):
    settings.LOOPSCOPE_NO_STORE = True
    assert read(path, "GET").headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("caching", "expected"),
    [
        ("private, max-age=3600", "no-store"),
        ("max-age=315360000, public, immutable", None),
        ("no-cache", None),
    ],
)
def test_images_are_not_stored_if_that_is_set_and_static_files_are(settings, caching, expected):
    settings.LOOPSCOPE_NO_STORE = True
    answer = HttpResponse(headers={"Cache-Control": caching})
    ContentSecurityPolicy(lambda _: answer)(HttpRequest())
    assert answer["Cache-Control"] == (expected or caching)


def test_a_plain_request_to_the_ingest_socket_is_a_426():
    response = read("/ingest/v1/ws", "GET")

    assert (response.status, response.headers["upgrade"]) == (426, "websocket")


@pytest.mark.parametrize("path", ["/api/v1/sessions", "/ingest/v1/events", "/healthz"])
def test_a_foreign_host_is_a_bad_host(path):
    response = request(path, headers=[(b"host", b"evil.example")])

    assert (response.status, response.json["code"]) == (400, "bad_host")

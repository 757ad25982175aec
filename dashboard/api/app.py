"""The API object of django-ninja: authentication, error responses, routers.

Every error is JSON, `{"code", "message"}`, also for paths that do not exist.
"""

from __future__ import annotations

from math import ceil

from django.core.exceptions import PermissionDenied
from django.db import DatabaseError, InterfaceError
from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI, Router
from ninja.errors import HttpError, ValidationError

from dashboard.api import endpoints, session_endpoints
from dashboard.lifecycle.openapi import with_lifecycle
from dashboard.security.access import NotSignedIn, Reader, reader
from recorder.database.errors import as_busy
from recorder.journal.read import Pruned

ABOUT = """What Loopscope recorded. Pages are keyset pages: pass `next` as `cursor`. Unknown is null, never 0.
Times are RFC 3339 UTC. A record is identified by the `id` of its item; ids survive a rebuild. Money is in
dollars, as exact decimal text. `project` selects one of a signed-in user's projects; a token has one."""

AFTER_PRUNING = "records and totals remain; `/events?envelope=1` returns the remaining lines."


def authenticate(request: HttpRequest) -> Reader:
    """Return the user or token that reads. Raises NotSignedIn, PermissionDenied or Http404."""
    return reader(request)


api = NinjaAPI(
    title="Loopscope",
    version="1",
    description=ABOUT,
    auth=authenticate,
    docs_url=None,
    openapi_url=None,
    urls_namespace="api",
)


def problem(request: HttpRequest, status: int, code: str, message: str) -> HttpResponse:
    """Return the JSON response of an error."""
    response = api.create_response(request, {"code": code, "message": message}, status=status)
    if status == 401:
        response["WWW-Authenticate"] = "Bearer"
    return response


@api.exception_handler(NotSignedIn)
def _not_signed_in(request: HttpRequest, _: NotSignedIn) -> HttpResponse:
    return problem(request, 401, "unauthorized", "Send a token with scope read as `Authorization: Bearer …`.")


@api.exception_handler(PermissionDenied)
def _denied(request: HttpRequest, _: PermissionDenied) -> HttpResponse:
    return problem(request, 403, "forbidden", "This token does not have scope read.")


@api.exception_handler(Http404)
def _missing(request: HttpRequest, _: Http404) -> HttpResponse:
    return problem(request, 404, "not_found", "No such record in this project.")


@api.exception_handler(ValidationError)
def _bad_query(request: HttpRequest, error: ValidationError) -> HttpResponse:
    faults = "; ".join(f"{'.'.join(map(str, fault['loc'][1:]))}: {fault['msg']}" for fault in error.errors)
    return problem(request, 400, "bad_query", faults)


@api.exception_handler(HttpError)
def _http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    code = "not_found" if error.status_code == 404 else "bad_query"
    return problem(request, error.status_code, code, str(error))


@api.exception_handler(Pruned)
def _pruned(request: HttpRequest, error: Exception) -> HttpResponse:
    return problem(request, 410, "pruned", f"{error}: {AFTER_PRUNING}")


@api.exception_handler(DatabaseError)
@api.exception_handler(InterfaceError)
def _database_error(request: HttpRequest, error: Exception) -> HttpResponse:
    busy = as_busy(error)
    if busy is None:
        raise error
    response = problem(request, 503, busy.code, "Database unavailable; try again.")
    response["Retry-After"] = str(ceil(busy.retry_after_ms / 1000))
    return response


api.add_router("", session_endpoints.router)
api.add_router("", endpoints.router)


@api.get("/openapi.json", include_in_schema=False)
def openapi(request: HttpRequest) -> HttpResponse:
    """Return this description of the API."""
    return api.create_response(request, with_lifecycle(api.get_openapi_schema()), status=200)


not_found = Router()


@not_found.get("/{path:rest}", include_in_schema=False)
def no_endpoint(request: HttpRequest, rest: str) -> HttpResponse:
    """Answer 404 as JSON."""
    return problem(request, 404, "not_found", f"No endpoint /api/v1/{rest}.")


api.add_router("", not_found)  # last: it matches every path

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

from dashboard.api import endpoints, ledger_endpoints, note_endpoints, saved_views, session_endpoints
from dashboard.api.what_if import endpoint as what_if_endpoint
from dashboard.lifecycle.openapi import with_lifecycle
from dashboard.query_language import QueryError
from dashboard.security.access import NotSignedIn, Reader, reader
from recorder.database.errors import as_busy
from recorder.journal.read import Pruned
from recorder.notes.errors import NotAllowed, NoTarget, Refused

ABOUT = """What Loopscope recorded. Pages are keyset pages: pass `next` as `cursor`. Unknown is null, never 0.
Times are RFC 3339 UTC. A record is identified by the `id` of its item; ids survive a rebuild. Money is in
dollars, as exact decimal text. `project` selects one of a signed-in user's projects; a token has one."""

CODES = {403: "forbidden", 404: "not_found", 409: "conflict"}
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


def _bad(request: HttpRequest) -> str:
    return "bad_query" if request.method in ("GET", "HEAD") else "bad_body"


@api.exception_handler(NotSignedIn)
def _not_signed_in(request: HttpRequest, _: NotSignedIn) -> HttpResponse:
    return problem(request, 401, "unauthorized", "Send a token with scope read as `Authorization: Bearer …`.")


@api.exception_handler(PermissionDenied)
def _denied_response(request: HttpRequest, denied: PermissionDenied) -> HttpResponse:
    return problem(request, 403, "forbidden", str(denied) or "This token does not have scope read.")


@api.exception_handler(Http404)
def _missing(request: HttpRequest, _: Http404) -> HttpResponse:
    return problem(request, 404, "not_found", "No such record in this project.")


@api.exception_handler(ValidationError)
def _bad_query(request: HttpRequest, error: ValidationError) -> HttpResponse:
    faults = "; ".join(f"{'.'.join(map(str, fault['loc'][1:]))}: {fault['msg']}" for fault in error.errors)
    return problem(request, 400, _bad(request), faults)


@api.exception_handler(QueryError)
def _bad_grammar(request: HttpRequest, error: QueryError) -> HttpResponse:
    fields = {"code": "bad_query", "at": error.at, "message": error.message}
    return api.create_response(request, fields, status=400)


@api.exception_handler(HttpError)
def _http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    code = CODES.get(error.status_code) or _bad(request)
    return problem(request, error.status_code, code, str(error))


@api.exception_handler(Refused)
def _refused_response(request: HttpRequest, error: Refused) -> HttpResponse:
    return problem(request, 409 if error.code == "conflict" else 400, error.code, str(error))


@api.exception_handler(NoTarget)
def _no_target(request: HttpRequest, error: NoTarget) -> HttpResponse:
    return problem(request, 404, "not_found", str(error))


@api.exception_handler(NotAllowed)
def _not_allowed(request: HttpRequest, _: NotAllowed) -> HttpResponse:
    return problem(request, 403, "forbidden", "Only the author and admins may change this entry.")


@api.exception_handler(Pruned)
def _pruned_response(request: HttpRequest, error: Exception) -> HttpResponse:
    return problem(request, 410, "pruned", f"{error}: {AFTER_PRUNING}")


@api.exception_handler(RecursionError)
def _too_deep(request: HttpRequest, error: Exception) -> HttpResponse:
    return problem(request, 422, "too_deep", "A value is nested too deeply to write it; use `/events`.")


@api.exception_handler(DatabaseError)
@api.exception_handler(InterfaceError)
def _database_error(request: HttpRequest, error: Exception) -> HttpResponse:
    busy = as_busy(error)
    if busy is None:
        raise error
    response = problem(request, 503, busy.code, "Database unavailable; try again.")
    response["Retry-After"] = str(ceil(busy.retry_after_ms / 1000))
    return response


api.add_router("", ledger_endpoints.router)
api.add_router("", what_if_endpoint.router)
api.add_router("", session_endpoints.router)
api.add_router("", endpoints.router)
api.add_router("", note_endpoints.router)
api.add_router("", saved_views.router)


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

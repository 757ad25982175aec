"""The API: who may read, what goes wrong and how it is said, and which doors there are."""

from __future__ import annotations

from math import ceil

from django.core.exceptions import PermissionDenied
from django.db import DatabaseError, InterfaceError
from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI, Router
from ninja.errors import HttpError, ValidationError

from dashboard.api import endpoints, session_endpoints
from dashboard.lifecycle.openapi import described
from dashboard.security.access import NotSignedIn, Reader, reader
from recorder.database.errors import as_busy
from recorder.journal.read import Pruned

ABOUT = """What Loopscope recorded. Pages are keyset pages: pass `next` as `cursor`. Unknown is null, never 0.
Times are RFC 3339 UTC. A record is named by the `id` of its item; ids survive a rebuild. Money is in dollars,
as exact decimal text. `project` chooses among a signed-in user's projects; a token has one."""

STILL_THERE = "records and totals stay, and `/events?envelope=1` gives the lines that are left."


def who(request: HttpRequest) -> Reader:
    return reader(request)


api = NinjaAPI(
    title="Loopscope",
    version="1",
    description=ABOUT,
    auth=who,
    docs_url=None,
    openapi_url=None,
    urls_namespace="api",
)


def problem(request: HttpRequest, status: int, code: str, message: str) -> HttpResponse:
    response = api.create_response(request, {"code": code, "message": message}, status=status)
    if status == 401:
        response["WWW-Authenticate"] = "Bearer"
    return response


@api.exception_handler(NotSignedIn)
def _not_signed_in(request: HttpRequest, _: NotSignedIn) -> HttpResponse:
    return problem(request, 401, "unauthorized", "Send a token with scope read as `Authorization: Bearer …`.")


@api.exception_handler(PermissionDenied)
def _denied(request: HttpRequest, _: PermissionDenied) -> HttpResponse:
    return problem(request, 403, "forbidden", "This token may not read.")


@api.exception_handler(Http404)
def _missing(request: HttpRequest, _: Http404) -> HttpResponse:
    return problem(request, 404, "not_found", "There is no such thing in this project.")


@api.exception_handler(ValidationError)
def _senseless(request: HttpRequest, error: ValidationError) -> HttpResponse:
    said = "; ".join(f"{'.'.join(map(str, fault['loc'][1:]))}: {fault['msg']}" for fault in error.errors)
    return problem(request, 400, "bad_query", said)


@api.exception_handler(HttpError)
def _refused(request: HttpRequest, error: HttpError) -> HttpResponse:
    code = "not_found" if error.status_code == 404 else "bad_query"
    return problem(request, error.status_code, code, str(error))


@api.exception_handler(Pruned)
def _gone(request: HttpRequest, error: Exception) -> HttpResponse:
    return problem(request, 410, "pruned", f"{error}: {STILL_THERE}")


@api.exception_handler(DatabaseError)
@api.exception_handler(InterfaceError)
def _away(request: HttpRequest, error: Exception) -> HttpResponse:
    busy = as_busy(error)
    if busy is None:
        raise error
    response = problem(request, 503, busy.code, "The database does not answer now: try again.")
    response["Retry-After"] = str(ceil(busy.retry_after_ms / 1000))
    return response


api.add_router("", session_endpoints.router)
api.add_router("", endpoints.router)


@api.get("/openapi.json", include_in_schema=False)
def openapi(request: HttpRequest) -> HttpResponse:
    """Return this description of the API."""
    return api.create_response(request, described(api.get_openapi_schema()), status=200)


nowhere = Router()


@nowhere.get("/{path:rest}", include_in_schema=False)
def nothing(request: HttpRequest, rest: str) -> HttpResponse:
    """Say in JSON that there is no such door."""
    return problem(request, 404, "not_found", f"There is no /api/v1/{rest}.")


api.add_router("", nowhere)  # last: it answers to every path

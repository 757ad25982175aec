"""Doors to sessions. Their ids may hold slashes, and may end in the name of a door."""

from __future__ import annotations

from django.core.handlers.asgi import ASGIRequest
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from ninja import Query, Router
from ninja.errors import HttpError

from dashboard.api import schemas
from dashboard.api.auth import project_of
from dashboard.api.params import OfContext, OfEvents, OfExport, OfSessions
from dashboard.api.queries import sessions as queries
from dashboard.api.queries.lines import pieces
from dashboard.api.streaming_response import unhurried
from dashboard.shared.session_json.brief import Brief, text
from dashboard.shared.session_json.queries.brief import brief
from dashboard.web.query_params import whole_number
from recorder.models import Session
from recorder.projection.as_of import NotOfSession, as_of
from recorder.projection.export import phi_session

router = Router()


@router.get("/sessions", response=schemas.Sessions)
def sessions(request: HttpRequest, params: Query[OfSessions]) -> schemas.Sessions:
    """List sessions, by default those first that were active last."""
    return queries.SESSIONS.page(project_of(request), params)


@router.get("/sessions/{path:session_id}/export", response={200: None})
def export(request: HttpRequest, session_id: str, params: Query[OfExport]) -> object:
    """Return the session as phi-core writes it."""
    if _is_of_the_id(request, session_id, "export"):
        return JsonResponse(detail(request, f"{session_id}/export").model_dump())
    return JsonResponse(phi_session(_found(request, session_id)))


@router.get("/sessions/{path:session_id}/context", response=Brief)
def context(request: HttpRequest, session_id: str, params: Query[OfContext]) -> object:
    """Return the session in brief: tasks, tools, errors, approvals, sub-agents; `as=text` for a prompt."""
    if _is_of_the_id(request, session_id, "context"):
        return JsonResponse(detail(request, f"{session_id}/context").model_dump())
    found = brief(project_of(request), _found(request, session_id))
    return (
        HttpResponse(text(found), content_type="text/plain; charset=utf-8") if params.as_ == "text" else found
    )


@router.get("/sessions/{path:session_id}/events", response={200: None})
def events(request: HttpRequest, session_id: str, params: Query[OfEvents]) -> object:
    """Return the recorded lines, byte for byte in recorded order."""
    if _is_of_the_id(request, session_id, "events"):
        return JsonResponse(detail(request, f"{session_id}/events").model_dump())
    lines = pieces(_found(request, session_id), envelope=params.envelope)
    content = unhurried(lines) if isinstance(request, ASGIRequest) else lines
    return StreamingHttpResponse(content, content_type="application/x-ndjson")


@router.get("/sessions/{path:session_id}", response=schemas.SessionDetail)
def detail(request: HttpRequest, session_id: str, at: str | None = None) -> schemas.SessionDetail:
    """Return one session with its loops, each under its parent; `at` folds it up to a recorded event."""
    project, found = project_of(request), _found(request, session_id)
    if at is None:
        return queries.session_detail(project, found)
    event = whole_number(at)
    if event is None:
        raise HttpError(400, "`at` is the id of a recorded event, as the envelope of `/events` gives it.")
    try:
        with as_of(found, event):
            return queries.session_detail(project, _found(request, session_id))
    except NotOfSession:
        raise HttpError(404, "the session has no such event") from None


def _found(request: HttpRequest, session_id: str) -> Session:
    found = queries.session(project_of(request), session_id)
    if found is None:
        raise Http404
    return found


def _is_of_the_id(request: HttpRequest, session_id: str, door: str) -> bool:
    """Say whether the door's name is the end of an id: written %2F, or when only such a session exists."""
    raw = request.scope.get("raw_path", b"") if isinstance(request, ASGIRequest) else b""
    if raw.lower().endswith(f"%2f{door}".encode()):
        return True
    project = project_of(request)
    return not queries.session(project, session_id) and bool(queries.session(project, f"{session_id}/{door}"))

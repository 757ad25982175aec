"""Endpoints of sessions. A session id may contain slashes, and may end like the path of an endpoint."""

from __future__ import annotations

from django.core.handlers.asgi import ASGIRequest
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from ninja import Query, Router
from ninja.errors import HttpError

from dashboard.api import schemas
from dashboard.api.auth import acting, project_of, reader_of
from dashboard.api.params import OfContext, OfEvents, OfExport, OfSessions
from dashboard.api.queries import sessions as queries
from dashboard.api.session_export import html, otlp
from dashboard.shared.session_json.brief import Brief, text
from dashboard.shared.session_json.queries.brief import brief
from dashboard.shared.session_json.queries.lines import chunks
from dashboard.shared.session_state import at_moment
from dashboard.web.query_params import whole_number
from dashboard.web.streaming_response import stream
from recorder.models import Session
from recorder.operations import audit
from recorder.projection.as_of import NotOfSession, as_of
from recorder.projection.export import phi_session

router = Router()


@router.get("/sessions", response=schemas.Sessions)
def sessions(request: HttpRequest, params: Query[OfSessions]) -> schemas.Sessions:
    """List sessions, by default most recently active first; `metadata.NAME=VALUE` filters by metadata."""
    wanted = params.with_metadata(request.GET).read_query(reader_of(request))
    return queries.SESSIONS.page(project_of(request), wanted)


@router.get("/sessions/{path:session_id}/export", response={200: None})
def export(request: HttpRequest, session_id: str, params: Query[OfExport]) -> object:
    """Return the session in phi-core's format, as spans (an OTLP export request) or as an HTML file."""
    if _is_part_of_id(request, session_id, "export"):
        return JsonResponse(detail(request, f"{session_id}/export").model_dump())
    session = _session_or_404(request, session_id)
    audit.record(session.project, acting(request), "session.export", session_id, after={"as": params.as_})
    if params.as_ == "otlp":
        return otlp(request, session, params.encoding)
    return html(request, session) if params.as_ == "html" else JsonResponse(phi_session(session))


@router.get("/sessions/{path:session_id}/context", response=Brief, by_alias=True)
def context(request: HttpRequest, session_id: str, params: Query[OfContext]) -> object:
    """Return a brief of the session: tasks, tools, errors, approvals, sub-agents; `as=text` for a prompt."""
    if _is_part_of_id(request, session_id, "context"):
        return JsonResponse(detail(request, f"{session_id}/context").model_dump())
    item = brief(project_of(request), _session_or_404(request, session_id))
    return (
        HttpResponse(text(item), content_type="text/plain; charset=utf-8") if params.as_ == "text" else item
    )


@router.get("/sessions/{path:session_id}/events", response={200: None})
def events(request: HttpRequest, session_id: str, params: Query[OfEvents]) -> object:
    """Return the recorded lines, byte for byte in recorded order."""
    if _is_part_of_id(request, session_id, "events"):
        return JsonResponse(detail(request, f"{session_id}/events").model_dump())
    session = _session_or_404(request, session_id)
    lines = chunks(session, envelope=params.envelope)
    audit.record(session.project, acting(request), "session.export", session_id, after={"as": "ndjson"})
    content = stream(lines) if isinstance(request, ASGIRequest) else lines
    return StreamingHttpResponse(content, content_type="application/x-ndjson")


@router.get("/sessions/{path:session_id}", response=schemas.SessionDetail)
def detail(request: HttpRequest, session_id: str, at: str | None = None) -> schemas.SessionDetail:
    """Return one session with its loops, each below its parent; `at` gives the session as of an event."""
    project, session = project_of(request), _session_or_404(request, session_id)
    if at is None:
        return queries.session_detail(project, session)
    event = whole_number(at)
    if event is None:
        raise HttpError(400, "`at` must be the id of a recorded event, from the envelope of `/events`.")
    try:
        with as_of(session, event) as moment, at_moment(moment):
            return queries.session_detail(project, _session_or_404(request, session_id), event)
    except NotOfSession:
        raise HttpError(404, "the session has no such event") from None


def _session_or_404(request: HttpRequest, session_id: str) -> Session:
    session = queries.session(project_of(request), session_id)
    if session is None:
        raise Http404
    return session


def _is_part_of_id(request: HttpRequest, session_id: str, suffix: str) -> bool:
    """Return whether the id ends in `suffix`: its slash was sent as %2F, or only that session exists."""
    raw = request.scope.get("raw_path", b"") if isinstance(request, ASGIRequest) else b""
    if raw.lower().endswith(f"%2f{suffix}".encode()):
        return True
    project = project_of(request)
    if queries.session(project, session_id):
        return False
    return queries.session(project, f"{session_id}/{suffix}") is not None

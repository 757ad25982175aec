"""Views of the list of sessions, and of its downloads."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from dashboard.comparison.turn_section import MOST
from dashboard.live.cached_value import cached
from dashboard.live.paged_list import OpenList, listing, newest
from dashboard.pages.sessions import download, queries
from dashboard.pages.sessions.live import FIGURES_MS, SESSIONS, SessionsPage
from dashboard.pages.sessions.params import FILTERS, SEARCH, Filters
from dashboard.pages.sessions.queries.download import Downloaded
from dashboard.security.access import member
from dashboard.web import links
from dashboard.web.errors import refused
from dashboard.web.streaming_response import stream
from recorder.models import Project


@require_safe
@member
def index(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the sessions that match the query string."""
    filters = Filters.parse(request.GET)
    known = newest(queries.every(project.pk))
    found = listing(queries.matching(project.pk, filters, timezone.now()), filters, filters.order)
    rows = OpenList.opened(SESSIONS, project.pk, filters, found.pks, known)
    page = SessionsPage(project.pk, filters.but(), rows)
    keep = partial(cached, project=project.pk, query=page.filters.query, seconds=FIGURES_MS / 1_000)
    context = {
        "project": project,
        "page": "sessions",
        "ws_url": rows.socket(project.slug),
        "filters": filters,
        "listing": found,
        "is_empty": not known,
        "compared_max": MOST,
        "drawn": rows.draw(),
        "scale": page.scale.draw([project.pk])[project.pk],
        "summary": keep("sessions-summary", compute=lambda: page.summary.draw([project.pk])[project.pk]),
        "views": keep("sessions-views", compute=lambda: page.views.draw([project.pk])[project.pk]),
        "bar": FILTERS.bar(
            filters,
            links.sessions(project.slug),
            keep("sessions-menus", compute=lambda: queries.menus(project.pk, filters)) if known else (),
            replace(SEARCH, value=filters.q),
        ),
    }
    return render(request, "sessions/index.html", context)


@require_safe
@member
def as_csv(request: HttpRequest, project: Project) -> HttpResponseBase:
    """Download all sessions that match the query string as CSV."""
    return _download(request, project, download.as_csv, "csv", "text/csv; charset=utf-8")


@require_safe
@member
def as_json(request: HttpRequest, project: Project) -> HttpResponseBase:
    """Download all sessions that match the query string as JSON."""
    return _download(request, project, download.as_json, "json", "application/json")


def _download(
    request: HttpRequest,
    project: Project,
    written: Callable[[Iterable[Sequence[Downloaded]]], Iterator[bytes]],
    suffix: str,
    content_type: str,
) -> HttpResponseBase:
    filters = Filters.parse(request.GET)
    if filters.notes:  # no page says so: a file of more than was asked for would go unnoticed
        return refused(request, " ".join(filters.notes))
    chunks = written(queries.chunks(project, filters, timezone.now()))
    content = stream(chunks) if isinstance(request, ASGIRequest) else chunks
    response = StreamingHttpResponse(content, content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="sessions-{project.slug}.{suffix}"'
    return response

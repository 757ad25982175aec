"""Views of the list of sessions and of the comparison of some."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from http import HTTPStatus

from django.core.handlers.asgi import ASGIRequest
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from dashboard.live.paged_list import OpenList, listing, newest
from dashboard.pages.sessions import download, queries
from dashboard.pages.sessions.compare_params import MOST, Params
from dashboard.pages.sessions.live import SESSIONS, SessionsPage
from dashboard.pages.sessions.params import FILTERS, SEARCH, Filters
from dashboard.pages.sessions.queries.download import Downloaded
from dashboard.security.access import HtmxRequest, member
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
        "summary": page.summary.draw([project.pk])[project.pk],
        "views": page.views.draw([project.pk])[project.pk],
        "bar": FILTERS.bar(
            filters,
            links.sessions(project.slug),
            () if not known else queries.menus(project.pk, filters),
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


@require_safe
@member
@vary_on_headers("HX-Request")
def compare(request: HtmxRequest, project: Project) -> HttpResponse:
    """Show two to four sessions side by side, each one of the project; to htmx, the rows `row` selects."""
    params = Params.parse(request.GET)
    context = {"project": project, "page": "sessions", "params": params}
    if not params.is_comparison:
        return render(request, "sessions/not_compared.html", context, status=HTTPStatus.BAD_REQUEST)
    found = queries.rows(project.pk, params.sessions)
    if len(found) < len(params.sessions):
        raise Http404
    comparison = queries.comparison([found[pk] for pk in params.sessions], params)
    if request.htmx:
        return render(request, "comparison/loaded_rows.html", {"section": comparison.turns})
    return render(request, "sessions/compare.html", context | {"comparison": comparison})


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

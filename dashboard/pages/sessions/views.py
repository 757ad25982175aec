"""Views of the list of sessions, and of its downloads."""

from functools import partial

from django.core.handlers.asgi import ASGIRequest
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from dashboard.comparison.turn_section import MOST
from dashboard.live.cached_value import cached
from dashboard.live.paged_list import OpenList, listing, newest
from dashboard.pages.sessions import deletion, download, queries
from dashboard.pages.sessions.live import FIGURES_MS, SESSIONS, SessionsPage
from dashboard.pages.sessions.params import COLUMNS, FILTERS, VIEWS, Filters
from dashboard.query_conditions.box import fault_of, query_box
from dashboard.security.access import has, member, role
from dashboard.security.list_exports import exports
from dashboard.shared.saved_views.bar import opens_view, views_bar
from dashboard.web import links
from dashboard.web.errors import refused
from dashboard.web.lists.download import Download, Suffix, refuse, respond_with
from dashboard.web.lists.period_cookie import remembers_period
from dashboard.web.query_params import whole_number
from dashboard.web.streaming_response import stream
from recorder.access.rights import Right
from recorder.models import Project

SELECTED_MAX = deletion.MOST  # sessions in one file, or deleted at once


@require_safe
@member
@remembers_period(FILTERS.windows, "all")
@opens_view("sessions", VIEWS)
def index(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the sessions that match the query string."""
    filters = Filters.parse(request.GET, request.user.pk)
    known = newest(queries.every(project.pk))
    listed = listing(queries.matching(project.pk, filters, timezone.now()), filters, filters.order)
    rows = OpenList.opened(SESSIONS, project.pk, filters, listed.pks, known)
    page = SessionsPage(project.pk, filters.but(), rows)
    keep = partial(cached, project=project.pk, query=page.filters.query, seconds=FIGURES_MS / 1_000)
    held = role(request.user, project)
    context = {
        "project": project,
        "page": "sessions",
        "ws_url": rows.socket(project.slug),
        "filters": filters,
        "listing": listed,
        "is_empty": not known,
        "compared_max": MOST,
        "may_note": has(held, project, Right.WRITE_NOTES),
        "may_play_demo": has(held, project, Right.PLAY_DEMO),
        "may_delete": has(held, project, Right.DELETE_SESSIONS),
        "selected_max": SELECTED_MAX,
        "drawn": rows.draw(),
        "scale": page.scale.draw([project.pk])[project.pk],
        "summary": keep("sessions-summary", compute=lambda: page.summary.draw([project.pk])[project.pk]),
        "columns": COLUMNS.form(filters, links.sessions(project.slug)),
        "headers": COLUMNS.headers(filters.cols, filters.sort, filters),
        "views_bar": views_bar(
            request, project, "sessions", filters, first="", count=partial(queries.cheap_count, project.pk)
        ),
        "views": keep("sessions-views", compute=lambda: page.views.draw([project.pk])[project.pk]),
        "bar": FILTERS.bar(
            filters,
            links.sessions(project.slug),
            keep("sessions-menus", compute=lambda: queries.menus(project.pk, filters)) if known else (),
            query_box("Search sessions", filters, project.slug),
        ),
    }
    return render(request, "sessions/index.html", context)


@require_safe
@member
def dearest(request: HttpRequest, project: Project) -> HttpResponse:
    """Redirect to the session with the highest cost of those that match; without one to the list."""
    filters = Filters.parse(request.GET, request.user.pk)
    session = queries.dearest(project.pk, filters, timezone.now())
    return redirect(
        links.session(project.slug, session) if session else f"{links.sessions(project.slug)}{filters.query}"
    )


@require_safe
@member
@exports("sessions")
def as_csv(request: HttpRequest, project: Project) -> HttpResponseBase:
    """Download all sessions that match the query string as CSV."""
    return _download(request, project, "csv")


@require_safe
@member
@exports("sessions")
def as_json(request: HttpRequest, project: Project) -> HttpResponseBase:
    """Download all sessions that match the query string as JSON."""
    return _download(request, project, "json")


def _download(request: HttpRequest, project: Project, suffix: Suffix) -> HttpResponseBase:
    filters = Filters.parse(request.GET, request.user.pk)
    # No page says what is ignored: a file of more than was asked for would go unnoticed.
    refusal = refuse(request, filters.notes, fault_of(filters.q), suffix)
    if refusal:
        return refusal
    file = Download("sessions", project.slug, filters, download.HEADER)
    chunks = queries.chunks(project, filters, timezone.now())
    written = download.as_csv(chunks) if suffix == "csv" else download.as_json(file.about, chunks)
    return respond_with(request, file, written, suffix)


@require_safe
@member
@exports("recorded lines")
def export(request: HttpRequest, project: Project) -> HttpResponseBase:
    """Download the recorded lines of the selected sessions, `of`, as JSON lines."""
    pks = [whole_number(given) for given in request.GET.getlist("of")]
    chosen = [pk for pk in pks if pk]
    if not 1 <= len(pks) <= SELECTED_MAX or len(chosen) < len(pks):
        return refused(request, f"Select 1 to {SELECTED_MAX} sessions.")
    if not queries.has_all(project, chosen):
        raise Http404
    lines = queries.lines(project, chosen)
    content = stream(lines) if isinstance(request, ASGIRequest) else lines
    response = StreamingHttpResponse(content, content_type="application/x-ndjson")
    response["Content-Disposition"] = f'attachment; filename="sessions-{project.slug}-selected.jsonl"'
    return response

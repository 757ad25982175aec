"""The list of sessions as a page."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from dashboard import links
from dashboard.access import member
from dashboard.sessions import live, queries
from dashboard.sessions.filters import SORT_WORDS, Filters
from recorder.models import Project

COMPARED = 2


@require_safe
@member
def index(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the sessions that the query string asks for."""
    now = timezone.now()
    filters = Filters.parse(request.GET)
    listing = queries.listing(project.pk, filters, now)
    page = live.SessionsPage(project.pk, filters.on_first_page(), listing.pks, listing.newest)
    context = {
        "project": project,
        "page": "sessions",
        "ws_url": f"{links.live(project.slug, 'sessions')}?{live.socket_query(page)}",
        "filters": filters,
        "listing": listing,
        "drawn": live.draw(page),
        "facets": queries.facets(project.pk, filters),
        "sorts": SORT_WORDS,
    }
    return render(request, "sessions/index.html", context)


@require_safe
@member
def compare(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the figures of two sessions side by side."""
    asked = dict.fromkeys(
        int(pk) for pk in request.GET.getlist("of") if pk.isascii() and pk.isdecimal() and len(pk) < 19
    )
    found = queries.rows(project.pk, list(asked)[:COMPARED])
    if len(found) < COMPARED:
        raise Http404
    shown = [found[pk] for pk in asked if pk in found]
    context = {"project": project, "page": "sessions", "rows": shown, "sums": queries.compared(shown)}
    return render(request, "sessions/compare.html", context)

"""Views of the search: the page of results, the numbers of its facets, and its downloads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from dashboard.live.cached_value import cached
from dashboard.pages.search_text import grammar, queries
from dashboard.pages.search_text.facets import facets, times
from dashboard.pages.search_text.live import SearchPage
from dashboard.pages.search_text.params import FILTERS, SearchParams
from dashboard.query_conditions.box import fault_of, query_box
from dashboard.query_conditions.queries import recorded_values
from dashboard.security.access import member
from dashboard.security.list_exports import exports
from dashboard.shared.saved_views.bar import opens_view, views_bar
from dashboard.web import links
from dashboard.web.lists.download import Download, Fault, Suffix, respond
from recorder.models import Project

FACETS = ("model", "agent", "tool")
RECORDED_S = 5  # seconds for which recorded values are cached
LAG_S, LAG_WARNING_S = 1, 60  # lags that are shown, and that are a warning


@require_safe
@member
@opens_view("search")
def index(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the sessions whose recorded text matches the query."""
    params, now = SearchParams.parse(request.GET), timezone.now()
    query = params.parsed
    search = query_box("Search all recorded text", params, project.slug)
    context = {
        "project": project,
        "page": "search_text",
        "ws_url": links.live(project.slug, "search_text"),
        "params": params,
        "bar": FILTERS.bar(params, links.search_text(project.slug), search=search),
        "views_bar": views_bar(request, project, "search", params),
        "grammar": grammar.EXAMPLES,
        "lag": queries.lag(project.pk, now),
        "lag_shown_s": LAG_S,
        "lag_warning_s": LAG_WARNING_S,
    }
    if query.node is not None:
        user = request.user.pk or 0
        opened = SearchPage.opened(project, params, user)
        found = queries.results(project, params, now, user)
        context |= {
            "results": found,
            "ws_url": opened.socket(project.slug),
            "strip": opened.draw(),
            "download": links.search_text(project.slug),
            "address": request.build_absolute_uri(links.search_text(project.slug) + params.but().query),
            "counts_query": params.but().query + ("" if found.is_counted else "&total=1"),
            "sorts": params.sorts,
            "facets": facets(params, _recorded_values(project.pk)),
            "times": times(params),
            "wider": [] if found.groups else queries.wider(project.pk, params, now, user),
        }
    return render(request, "search_text/index.html", context)


@require_safe
@member
def counts(request: HttpRequest, project: Project) -> HttpResponse:
    """Return the facets with their numbers of sessions; the page loads them after its results."""
    params = SearchParams.parse(request.GET)
    if params.parsed.node is None:
        return HttpResponse(status=204)
    counted = queries.counts(project.pk, params, timezone.now(), request.user.pk or 0)
    context = {
        "project": project,
        "params": params,
        "counts": counted,
        "counts_total": "total" in request.GET,
        "facets": facets(params, _recorded_values(project.pk), counted),
        "times": times(params),
    }
    return render(request, "search_text/facets.html", context)


@require_safe
@member
@exports("search")
def download(request: HttpRequest, project: Project, suffix: Suffix) -> HttpResponseBase:
    """Download all hits of the query."""
    params = SearchParams.parse(request.GET)
    fault = fault_of(params.q) if params.q else Fault("A query is missing.", 0)
    file = Download("search", project.slug, params, queries.HEADER, fault)
    rows = queries.chunks(project, params, timezone.now(), request.user.pk or 0)
    return respond(request, file, rows, suffix)


def _recorded_values(project: int) -> Mapping[str, Sequence[str]]:
    """Return the recorded values of facets, the most frequent first."""
    return cached(
        "search-facets",
        project=project,
        query="",
        seconds=RECORDED_S,
        compute=lambda: {
            key: sorted(found := recorded_values.counts(project, key, ""), key=lambda value: -found[value])
            for key in FACETS
        },
    )

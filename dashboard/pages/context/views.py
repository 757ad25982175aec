"""Views of the page Context and cache. Every member of the project can read it."""

from __future__ import annotations

from functools import partial

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from dashboard.live.cached_value import cached
from dashboard.pages.context import csv_export, live, queries
from dashboard.pages.context.params import FILTERS, USUAL, ContextPageParams
from dashboard.security.access import member
from dashboard.security.list_exports import exports
from dashboard.web import links
from dashboard.web.lists.download import Download, Suffix, respond
from dashboard.web.lists.period_cookie import remembers_period
from recorder.models import Project

CACHED_S = 60  # for the next requests of the same figures


@require_safe
@member
@remembers_period(FILTERS.windows, USUAL)
def index(request: HttpRequest, project: Project) -> HttpResponse:
    """Show what the context of the selected days cost, and why caches were missed."""
    params = ContextPageParams.parse(request.GET)
    address = links.page("context", project.slug)
    now = timezone.now()
    query = f"{now.date()} {queries.progress(project.pk).waiting} {sorted(params.pairs().items())}"
    page = live.ContextLive(project.pk, params)
    context = {
        "project": project,
        "page": "context",
        "ws_url": links.live(project.slug, "context", **params.pairs()),
        "params": params,
        "bar": FILTERS.bar(params, address, queries.menus(project.pk, params, now)),
        "drawn": cached("context", project.pk, query, CACHED_S, partial(live.draw, page)),
        "download": address,
    }
    return render(request, "context/index.html", context)


@require_safe
@member
@exports("context")
def download(request: HttpRequest, project: Project, suffix: Suffix) -> HttpResponseBase:
    """Download what the page shows, with all sessions that lost anything."""
    params = ContextPageParams.parse(request.GET)
    found = queries.page(project, params, timezone.now(), count=0)
    file = Download("context", project.slug, params, csv_export.COLUMNS)
    return respond(request, file, [list(csv_export.rows(found))], suffix)

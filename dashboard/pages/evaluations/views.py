"""Views of the list of evaluations and of one evaluation."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from dashboard.live.paged_list import OpenList, listing, newest
from dashboard.pages.evaluations.detail_live import drawn
from dashboard.pages.evaluations.detail_params import Params
from dashboard.pages.evaluations.list_live import EVALUATIONS
from dashboard.pages.evaluations.list_params import FILTERS, NEWEST, Filters
from dashboard.pages.evaluations.queries import list as queries_list
from dashboard.pages.evaluations.queries.comparison import turns_of
from dashboard.pages.evaluations.queries.groups import groups
from dashboard.security.access import HtmxRequest, member
from dashboard.web import links
from recorder.models import Project


@require_safe
@member
@vary_on_headers("HX-Request")
def detail(request: HtmxRequest, project: Project, pk: int) -> HttpResponse:
    """Show one evaluation; to htmx, the rows of turns that `row` selects."""
    group = groups([pk]).get(pk)
    if group is None or group.project != project:
        raise Http404
    params = Params.parse(request.GET)
    if request.htmx:
        return render(request, "comparison/loaded_rows.html", {"section": turns_of(group, params)})
    context = {
        "project": project,
        "page": "evaluations",
        "group": pk,
        "ws_url": links.live(project.slug, "evaluation", group=pk, **params.pairs()),
        "drawn": drawn(group, params),
    }
    return render(request, "evaluations/detail.html", context)


@require_safe
@member
def index(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the evaluations that match the query string."""
    filters = Filters.parse(request.GET)
    newest_pk = newest(queries_list.of_project(project.pk))
    found = listing(queries_list.matching(project.pk, filters, timezone.now()), filters, NEWEST)
    page = OpenList.opened(EVALUATIONS, project.pk, filters, found.pks, newest_pk)
    context = {
        "project": project,
        "page": "evaluations",
        "ws_url": page.socket(project.slug),
        "filters": filters,
        "listing": found,
        "bar": FILTERS.bar(filters, links.evaluations(project.slug), queries_list.menus(project.pk, filters)),
        "is_empty": not newest_pk,
        "drawn": page.draw(),
    }
    return render(request, "evaluations/index.html", context)

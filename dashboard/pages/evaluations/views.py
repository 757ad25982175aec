"""Views of the list of evaluations and of one evaluation."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from dashboard.live.paged_list import OpenList, listing, newest
from dashboard.pages.evaluations.detail_live import fragments
from dashboard.pages.evaluations.detail_params import DetailParams
from dashboard.pages.evaluations.list_live import EVALUATIONS
from dashboard.pages.evaluations.list_params import COLUMNS, FILTERS, NEWEST, Filters
from dashboard.pages.evaluations.queries import download as queries_download
from dashboard.pages.evaluations.queries import list as queries_list
from dashboard.pages.evaluations.queries.comparison import turns_of
from dashboard.pages.evaluations.queries.groups import groups
from dashboard.query_conditions.box import fault_of, query_box
from dashboard.security.access import HtmxRequest, may, member
from dashboard.security.list_exports import exports
from dashboard.shared.saved_views.bar import opens_view, views_bar
from dashboard.web import links
from dashboard.web.lists.download import Download, Suffix, respond
from dashboard.web.lists.period_cookie import remembers_period
from recorder.access.rights import Right
from recorder.models import Project


@require_safe
@member
@vary_on_headers("HX-Request")
def detail(request: HtmxRequest, project: Project, pk: int) -> HttpResponse:
    """Show one evaluation; to htmx, the rows of turns that `row` selects."""
    group = groups([pk]).get(pk)
    if group is None or group.project != project:
        raise Http404
    params = DetailParams.parse(request.GET)
    if request.htmx:
        return render(request, "comparison/loaded_rows.html", {"section": turns_of(group, params)})
    context = {
        "project": project,
        "page": "evaluations",
        "group": pk,
        "ws_url": links.live(project.slug, "evaluation", group=pk, **params.pairs()),
        "drawn": fragments(group, params),
        "may_write": may(request.user, project, Right.WRITE_NOTES),
    }
    return render(request, "evaluations/detail.html", context)


@require_safe
@member
@remembers_period(FILTERS.windows, "all")
@opens_view("evaluations")
def index(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the evaluations that match the query string."""
    filters = Filters.parse(request.GET, request.user.pk)
    newest_pk = newest(queries_list.of_project(project.pk))
    found = listing(queries_list.matching(project.pk, filters, timezone.now()), filters, NEWEST)
    page = OpenList.opened(EVALUATIONS, project.pk, filters, found.pks, newest_pk)
    context = {
        "project": project,
        "page": "evaluations",
        "ws_url": page.socket(project.slug),
        "filters": filters,
        "columns": COLUMNS.form(filters, links.evaluations(project.slug)),
        "headers": COLUMNS.headers(filters.cols, "-started"),
        "views_bar": views_bar(request, project, "evaluations", filters),
        "download": links.evaluations(project.slug),
        "listing": found,
        "bar": FILTERS.bar(
            filters,
            links.evaluations(project.slug),
            queries_list.menus(project.pk, filters),
            query_box("Search evaluations", filters, project.slug),
        ),
        "is_empty": not newest_pk,
        "drawn": page.draw(),
    }
    return render(request, "evaluations/index.html", context)


@require_safe
@member
@exports("evaluations")
def download(request: HttpRequest, project: Project, suffix: Suffix) -> HttpResponseBase:
    """Download all evaluations that match the query string."""
    params = Filters.parse(request.GET, request.user.pk)
    file = Download("evaluations", project.slug, params, queries_download.HEADER, fault_of(params.q))
    return respond(request, file, queries_download.chunks(project, params, timezone.now()), suffix)

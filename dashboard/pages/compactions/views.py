"""Views of the list of compactions and of one compaction."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from dashboard.compaction_analysis.queries.passes import listed
from dashboard.live.paged_list import OpenList, listing, newest
from dashboard.pages.compactions.detail_live import CompactionPage
from dashboard.pages.compactions.list_live import COMPACTIONS
from dashboard.pages.compactions.params import COLUMNS, FILTERS, NEWEST, Filters
from dashboard.pages.compactions.queries import detail as queries
from dashboard.pages.compactions.queries import download as queries_download
from dashboard.pages.compactions.queries import figures
from dashboard.pages.compactions.queries import list as queries_list
from dashboard.query_conditions.box import fault_of, query_box
from dashboard.security.access import member
from dashboard.security.list_exports import exports
from dashboard.shared.saved_views.bar import opens_view, views_bar
from dashboard.web import links
from dashboard.web.lists.download import Download, Suffix, respond
from dashboard.web.lists.period_cookie import remembers_period
from recorder.models import Project


@require_safe
@member
def detail(request: HttpRequest, project: Project, pk: int, compaction: int) -> HttpResponse:
    """Show a compaction before and after."""
    if not queries.is_of(project.pk, pk, compaction):
        raise Http404
    page = CompactionPage(project.pk, pk, compaction)
    context = {
        "project": project,
        "page": "compactions",
        "compaction": compaction,
        "ws_url": links.live(project.slug, "compaction", session=pk, compaction=compaction),
        "drawn": [panel.draw(pks)[compaction] for panel, pks in page.dirty_panels(None)],
    }
    return render(request, "compactions/detail.html", context)


@require_safe
@member
def of_event(_request: HttpRequest, project: Project, event: int) -> HttpResponse:
    """Redirect to the compaction that an event started or ended."""
    url = queries.url_of_event(project.pk, event)
    if url is None:
        raise Http404
    return HttpResponseRedirect(url)


@require_safe
@member
@remembers_period(FILTERS.windows, "all")
@opens_view("compactions")
def index(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the compactions that match the query string, with their totals."""
    filters, now = Filters.parse(request.GET, request.user.pk), timezone.now()
    newest_pk, wanted = newest(listed(project.pk)), queries_list.matching(project.pk, filters, now)
    found = listing(wanted, filters, NEWEST)
    page = OpenList.opened(COMPACTIONS, project.pk, filters, found.pks, newest_pk)
    menus = queries_list.menus(project.pk, filters) if newest_pk else ()
    context = {
        "project": project,
        "page": "compactions",
        "ws_url": page.socket(project.slug),
        "filters": filters,
        "columns": COLUMNS.form(filters, links.compactions(project.slug)),
        "headers": COLUMNS.headers(filters.cols, "-when"),
        "views_bar": views_bar(request, project, "compactions", filters),
        "download": links.compactions(project.slug),
        "listing": found,
        "is_empty": not newest_pk,
        "bar": FILTERS.bar(
            filters,
            links.compactions(project.slug),
            menus,
            query_box("Search compactions", filters, project.slug),
        ),
        "drawn": page.draw(),
    }
    if found.pks:
        context |= {
            "sum": figures.figures(wanted),
            "by_config": figures.by_config(wanted),
            "by_agent": figures.by_agent(wanted),
            "paid": figures.paid(wanted),
        }
    return render(request, "compactions/index.html", context)


@require_safe
@member
@exports("compactions")
def download(request: HttpRequest, project: Project, suffix: Suffix) -> HttpResponseBase:
    """Download all compactions that match the query string."""
    params = Filters.parse(request.GET, request.user.pk)
    file = Download("compactions", project.slug, params, queries_download.HEADER, fault_of(params.q))
    return respond(request, file, queries_download.chunks(project, params, timezone.now()), suffix)

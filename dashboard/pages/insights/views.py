"""Views of the insights page: list, dismiss, restore, run consolidation."""

from __future__ import annotations

from dataclasses import replace

from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from dashboard.live.paged_list import listing
from dashboard.pages.insights import download as export
from dashboard.pages.insights import queries
from dashboard.pages.insights.params import FILTERS, NEWEST, InsightsParams
from dashboard.security.access import member, require, rights
from dashboard.security.actor import actor_of
from dashboard.security.list_exports import exports
from dashboard.web import links
from dashboard.web.lists.download import Download, Suffix, respond
from recorder.access.rights import Right
from recorder.insights import store
from recorder.insights.extract_facts import model
from recorder.models import Project
from recorder.operations import audit, scheduler


@require_safe
@member
def index(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the insights that match the query string."""
    params = InsightsParams.parse(request.GET)
    listed = listing(queries.matching(project.pk, params), params, NEWEST)
    context = {
        "project": project,
        "page": "insights",
        "ws_url": links.live(project.slug, "insights"),
        "params": params,
        "listing": listed,
        "rows": queries.rows(project, listed.pks),
        "moved": queries.undoable(project.pk, params),
        "bar": FILTERS.bar(params, links.insights(project.slug), queries.menus(project.pk, params)),
        "download": links.insights(project.slug),
        "runs": queries.runs(timezone.now()),
        "has_model": model() is not None,
        "may": rights(request.user, project),
    }
    return render(request, "insights/index.html", context)


@require_POST
@member
def dismiss(request: HttpRequest, project: Project, pk: int) -> HttpResponse:
    """Dismiss an insight."""
    user = require(request, project, Right.DISMISS_INSIGHTS)
    with transaction.atomic():
        if not store.dismiss(project.pk, pk, user.get_username()):
            raise Http404
        audit.record(project, actor_of(request), "insight.dismiss", str(pk))
    return _back(request, project, pk)


@require_POST
@member
def restore(request: HttpRequest, project: Project, pk: int) -> HttpResponse:
    """Restore a dismissed insight."""
    require(request, project, Right.DISMISS_INSIGHTS)
    with transaction.atomic():
        if not store.restore(project.pk, pk):
            raise Http404
        audit.record(project, actor_of(request), "insight.restore", str(pk))
    return _back(request, project, pk)


@require_POST
@member
def consolidate(request: HttpRequest, project: Project) -> HttpResponse:
    """Request a run of consolidation; it starts within seconds."""
    require(request, project, Right.CONSOLIDATE_INSIGHTS)
    audit.record(project, actor_of(request), "consolidate", project.slug)
    scheduler.request(scheduler.CONSOLIDATE, timezone.now())
    return redirect(links.insights(project.slug, **InsightsParams.parse(request.POST).pairs()))


def _back(request: HttpRequest, project: Project, pk: int) -> HttpResponse:
    """Redirect to the same list, with a link to undo the change."""
    params = InsightsParams.parse(request.POST)
    undo = None if params.undo == pk else pk
    return redirect(links.insights(project.slug, **replace(params, undo=undo).pairs()))


@require_safe
@member
@exports("insights")
def download(request: HttpRequest, project: Project, suffix: Suffix) -> HttpResponseBase:
    """Download all insights that match the query string."""
    params = InsightsParams.parse(request.GET)
    file = Download("insights", project.slug, params, export.HEADER)
    return respond(request, file, export.chunks(project, params), suffix)

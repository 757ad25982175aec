"""Views of the insights page: list, dismiss, restore, run consolidation."""

from __future__ import annotations

from dataclasses import replace

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from dashboard.live.paged_list import listing
from dashboard.pages.insights import queries
from dashboard.pages.insights.params import FILTERS, NEWEST, Params
from dashboard.security.access import may, member, require
from dashboard.web import links
from recorder.insights import store
from recorder.insights.extract_facts import model
from recorder.models import Membership, Project
from recorder.operations import scheduler


@require_safe
@member
def index(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the insights that match the query string."""
    params = Params.parse(request.GET)
    found = listing(queries.matching(project.pk, params), params, NEWEST)
    context = {
        "project": project,
        "page": "insights",
        "ws_url": links.live(project.slug, "insights"),
        "params": params,
        "listing": found,
        "rows": queries.rows(project, found.pks),
        "moved": queries.undoable(project.pk, params),
        "bar": FILTERS.bar(params, links.insights(project.slug), queries.menus(project.pk, params)),
        "runs": queries.runs(timezone.now()),
        "has_model": model() is not None,
        "is_member": may(request.user, project, Membership.Role.MEMBER),
        "is_admin": may(request.user, project, Membership.Role.ADMIN),
    }
    return render(request, "insights/index.html", context)


@require_POST
@member
def dismiss(request: HttpRequest, project: Project, pk: int) -> HttpResponse:
    """Dismiss an insight."""
    user = require(request, project, Membership.Role.MEMBER)
    if not store.dismiss(project.pk, pk, user.get_username()):
        raise Http404
    return _back(request, project, pk)


@require_POST
@member
def restore(request: HttpRequest, project: Project, pk: int) -> HttpResponse:
    """Restore a dismissed insight."""
    require(request, project, Membership.Role.MEMBER)
    if not store.restore(project.pk, pk):
        raise Http404
    return _back(request, project, pk)


@require_POST
@member
def consolidate(request: HttpRequest, project: Project) -> HttpResponse:
    """Request a run of consolidation; it starts within seconds."""
    require(request, project, Membership.Role.ADMIN)
    scheduler.request(scheduler.CONSOLIDATE, timezone.now())
    return redirect(links.insights(project.slug, **Params.parse(request.POST).pairs()))


def _back(request: HttpRequest, project: Project, pk: int) -> HttpResponse:
    """Redirect to the same list, with a link to undo the change."""
    params = Params.parse(request.POST)
    undo = None if params.undo == pk else pk
    return redirect(links.insights(project.slug, **replace(params, undo=undo).pairs()))

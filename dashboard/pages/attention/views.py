"""The attention page of a project, and its read markers."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from dashboard.pages.attention.live import AttentionPage
from dashboard.pages.attention.params import FILTERS, LATEST, Params
from dashboard.pages.attention.queries import ended_sessions, filters
from dashboard.security.access import HtmxRequest, member, require
from dashboard.web import links
from dashboard.web.errors import refused
from dashboard.web.filters import hidden
from dashboard.web.query_params import whole_number
from recorder.access import read_marks
from recorder.models import Membership, Project


@require_safe
@member
def index(request: HttpRequest, project: Project) -> HttpResponse:
    """Show open approvals, failures and finished sessions."""
    user = require(request, project, Membership.Role.VIEWER)
    params = Params.parse(request.GET)
    context = {
        "project": project,
        "page": "attention",
        "ws_url": links.live(project.slug, "attention", **params.pairs()),
        "hidden": hidden(params, ()) + params.positions,
        "feed_url": f"{links.attention(project.slug)}/feed{params.but().query}",
        "bar": FILTERS.bar(params, links.attention(project.slug), filters.menus(project.pk, params)),
        "drawn": AttentionPage(project.pk, user.pk, params).draw(),
    }
    return render(request, "attention/index.html", context)


@require_POST
@member
def mark_read(request: HtmxRequest, project: Project) -> HttpResponse:
    """Mark one failure as read, or all up to the newest that the page showed."""
    user = require(request, project, Membership.Role.VIEWER)
    params = Params.parse(request.POST)
    session = whole_number(request.POST.get("session", ""))
    try:
        upto = LATEST.parse(request.POST["upto"]) if "upto" in request.POST else None
    except ValueError:
        upto = None
    if session is not None:
        loops = ended_sessions.failed_loop(project.pk, user.pk, session)
    elif upto is not None:
        loops = ended_sessions.failed_loops(project.pk, user.pk, params, upto=upto)
    else:
        return refused(request, "The parameter session or upto is missing.")
    read_marks.mark(user, project, loops, timezone.now())
    if request.htmx:  # the panel is pushed to open pages
        return HttpResponse(status=204)
    return redirect(links.attention(project.slug, **params.pairs()))

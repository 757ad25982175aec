"""The attention page of a project, and its read markers."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from dashboard.pages.attention.live import AttentionPage
from dashboard.pages.attention.params import ALARMED, FILTERS, LATEST, AttentionParams
from dashboard.pages.attention.queries import download as queries_download
from dashboard.pages.attention.queries import ended_sessions, filters, wastes
from dashboard.query_conditions.box import fault_of, query_box
from dashboard.security.access import HtmxRequest, member, require
from dashboard.security.list_exports import exports
from dashboard.shared.saved_views.bar import opens_view, views_bar
from dashboard.web import links
from dashboard.web.errors import refused
from dashboard.web.filters import hidden
from dashboard.web.keyset import Cursor, Order
from dashboard.web.lists.download import Download, Suffix, respond
from dashboard.web.query_params import whole_number
from recorder.access import read_marks
from recorder.access.rights import Right
from recorder.models import Project


@require_safe
@member
@opens_view("attention")
def index(request: HttpRequest, project: Project) -> HttpResponse:
    """Show open approvals, waste, failures and finished sessions."""
    user = require(request, project, Right.READ)
    params = AttentionParams.parse(request.GET, user.pk)
    context = {
        "project": project,
        "page": "attention",
        "ws_url": links.live(project.slug, "attention", **params.pairs()),
        "hidden": hidden(params, ()) + params.positions,
        "feed_url": f"{links.attention(project.slug)}/feed{params.but().query}",
        "bar": FILTERS.bar(
            params,
            links.attention(project.slug),
            filters.menus(project.pk, params),
            query_box("Search sessions", params, project.slug),
        ),
        "views_bar": views_bar(request, project, "attention", params),
        "download": links.attention(project.slug),
        "query": params.but().query,
        "drawn": AttentionPage(project.pk, user.pk, params).draw(),
    }
    return render(request, "attention/index.html", context)


@require_POST
@member
def mark_read(request: HtmxRequest, project: Project) -> HttpResponse:
    """Mark one failure or alarm as read, or all of one kind up to the newest that the page showed."""
    user = require(request, project, Right.READ)
    params, now = AttentionParams.parse(request.POST, user.pk), timezone.now()
    session, alarm = (whole_number(request.POST.get(name, "")) for name in ("session", "alarm"))
    upto, alarms_upto = _cursor(request, "upto", LATEST), _cursor(request, "alarms_upto", ALARMED)
    if session is not None:
        read_marks.mark(user, project, ended_sessions.failed_loop(project.pk, user.pk, session), now)
    elif upto is not None:
        failed = ended_sessions.failed_loops(project.pk, user.pk, params, upto=upto)
        read_marks.mark(user, project, failed, now)
    elif alarm is not None:
        read_marks.mark_waste(user, project, wastes.unread_one(project.pk, user.pk, alarm), now)
    elif alarms_upto is not None:
        unread = wastes.unread(project.pk, user.pk, params, upto=alarms_upto)
        read_marks.mark_waste(user, project, unread, now)
    else:
        return refused(request, "The parameter session or upto, or alarm or alarms_upto, is missing.")
    if request.htmx:  # the panel is pushed to open pages
        return HttpResponse(status=204)
    return redirect(links.attention(project.slug, **params.pairs()))


def _cursor(request: HttpRequest, name: str, order: Order) -> Cursor | None:
    try:
        return order.parse(request.POST.get(name, ""))
    except ValueError:
        return None


@require_safe
@member
@exports("attention")
def download(request: HttpRequest, project: Project, suffix: Suffix) -> HttpResponseBase:
    """Download all that the page lists for the query string."""
    user = require(request, project, Right.READ)
    params = AttentionParams.parse(request.GET, user.pk)
    file = Download("attention", project.slug, params, queries_download.HEADER, fault_of(params.q))
    return respond(request, file, queries_download.chunks(project, user.pk, params), suffix)

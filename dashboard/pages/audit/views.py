"""Views of the audit log: the page and its files. For admins alone."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from dashboard.pages.audit import download, queries
from dashboard.pages.audit.params import FILTERS, AuditParams
from dashboard.security.access import member, require, rights
from dashboard.security.list_exports import exports
from dashboard.security.signins import zone_of
from dashboard.web import links
from dashboard.web.errors import refused
from dashboard.web.filters import Search
from dashboard.web.lists.download import Download, LinesSuffix, respond_with
from dashboard.web.lists.period_cookie import remembers_period
from recorder.access.rights import Right
from recorder.models import Project


@require_safe
@member
@remembers_period(FILTERS.windows, "all")
def index(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the entries that match the query string, newest first."""
    user = require(request, project, Right.READ_AUDIT)
    params = AuditParams.parse(request.GET)
    path = reverse("audit", args=[project.slug])
    zone = zone_of(request)
    search = Search("q", "Filter the audit log", "Person, token, target, address", value=params.q)
    context = {
        "project": project,
        "page": "settings",
        "may": rights(request.user, project),
        "ws_url": links.live(project.slug, "audit"),
        "params": params,
        "bar": FILTERS.bar(params, path, queries.menus(project, user, params), search),
        "shown": queries.page(project, user, params, timezone.now(), zone),
        "zone": zone,
        "is_narrow": params.but(group=params.group).is_narrow,
        "download": path,
    }
    return render(request, "audit/index.html", context)


@require_safe
@member
@exports("audit log")
def as_file(request: HttpRequest, project: Project, suffix: LinesSuffix) -> HttpResponseBase:
    """Download all entries that match the query string."""
    user = require(request, project, Right.READ_AUDIT)
    params = AuditParams.parse(request.GET)
    if params.notes:  # no page says so: a file of more than was asked for would go unnoticed
        return refused(request, " ".join(params.notes))
    chunks = queries.chunks(project, user, params, timezone.now())
    written = download.as_csv(chunks) if suffix == "csv" else download.as_ndjson(chunks)
    return respond_with(request, Download("audit", project.slug, params, download.HEADER), written, suffix)

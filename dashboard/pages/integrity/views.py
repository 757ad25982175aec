"""The integrity page of a project."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.pages.integrity import queries
from dashboard.pages.integrity.live import COUNTS, list_panel, panels
from dashboard.pages.integrity.params import Filters
from dashboard.security.access import member
from dashboard.web import links
from recorder.models import Project

TITLES = {
    "rejected": "Rejected lines",
    "orphans": "Orphan events",
    "inconsistencies": "Inconsistencies",
}


@require_safe
@member
def index(request: HttpRequest, project: Project) -> HttpResponse:
    """Show rejected lines, orphan events and inconsistencies: by reason, or one list of them."""
    filters = Filters.parse(request.GET)
    context = {
        "project": project,
        "page": "integrity",
        "filters": filters,
        "title": TITLES.get(filters.list, "Integrity"),
        "reason": queries.reason_label(filters.list, filters.reason) if filters.list else "",
        "counts": COUNTS.draw([project.pk])[project.pk],
        "panels": [_older(project, filters)] if filters.before else _drawn(project, filters),
        "ws_url": links.live(project.slug, "integrity", **filters.pairs()),
    }
    return render(request, "integrity/index.html", context)


def _drawn(project: Project, filters: Filters) -> list[str]:
    return [panel.draw([project.pk])[project.pk] for panel in panels(filters)]


def _older(project: Project, filters: Filters) -> str:
    """Return a further page of a list, which does not change."""
    page = queries.list_page(project.pk, project.slug, filters.list, filters.reason, filters.before)
    return list_panel(filters.list, filters.reason).fragment(project.pk, page)

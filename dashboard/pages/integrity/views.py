"""The integrity page of a project."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.pages.integrity.live import counts_panel, list_panel, panels
from dashboard.pages.integrity.params import FILTERS, LISTS, Filters
from dashboard.pages.integrity.queries import lists
from dashboard.pages.integrity.queries.groups import menus
from dashboard.security.access import member
from dashboard.web import links
from dashboard.web.lists.period_cookie import remembers_period
from recorder.models import Project


@require_safe
@member
@remembers_period(FILTERS.windows, "all")
def index(request: HttpRequest, project: Project) -> HttpResponse:
    """Show rejected lines, orphan events and inconsistencies: by reason, or one list of them."""
    filters = Filters.parse(request.GET)
    offered = menus(project.pk, filters)
    context = {
        "project": project,
        "page": "integrity",
        "filters": filters,
        "groups_url": filters.but(list="", reason=()).query,
        "title": LISTS.get(filters.list, "Integrity"),
        "bar": FILTERS.bar(filters, links.integrity(project.slug), offered),
        "has_filters": filters.is_narrow or any(menu.options for menu in offered),
        "counts": counts_panel(filters).draw([project.pk])[project.pk],
        "panels": [_older(project, filters)] if filters.before else _draw(project, filters),
        "ws_url": links.live(project.slug, "integrity", **filters.pairs()),
    }
    return render(request, "integrity/index.html", context)


def _draw(project: Project, filters: Filters) -> list[str]:
    return [panel.draw([project.pk])[project.pk] for panel in panels(filters)]


def _older(project: Project, filters: Filters) -> str:
    """Return a further page of a list, which does not change."""
    return list_panel(filters).fragment(project.pk, lists.list_page(project.pk, project.slug, filters))

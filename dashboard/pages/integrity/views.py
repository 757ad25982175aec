"""The integrity page of a project."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.pages.integrity import queries
from dashboard.pages.integrity.live import COUNTS, LISTS
from dashboard.security.access import member
from dashboard.web import links
from dashboard.web.query_params import whole_number
from recorder.models import Project

PARTS = {"refused": queries.refused, "orphans": queries.orphans, "misfits": queries.misfits}


@require_safe
@member
def index(request: HttpRequest, project: Project) -> HttpResponse:
    """Show rejected lines, orphan events and inconsistencies."""
    before = {name: whole_number(request.GET.get(name, "")) for name in LISTS}
    context = {
        "project": project,
        "page": "integrity",
        "counts": COUNTS.draw([project.pk])[project.pk],
        "lists": [
            panel.fragment(project.pk, PARTS[name](project.pk, project.slug, before[name]))
            for name, panel in LISTS.items()
        ],
        "ws_url": links.live(
            project.slug, "integrity", **{name: key for name, key in before.items() if key is not None}
        ),
    }
    return render(request, "integrity/index.html", context)

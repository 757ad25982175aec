"""The search as a page, and as the results of the command palette."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from dashboard.pages.search import queries
from dashboard.pages.search.commands import actions
from dashboard.security.access import HtmxRequest, may, member
from dashboard.shared.saved_views.bar import views_of
from dashboard.shell.page import PageFolder
from recorder.access.rights import Right
from recorder.core.content.text import clean
from recorder.models import Project

LONGEST = 200


@require_safe
@member
@vary_on_headers("HX-Request")
def find(request: HtmxRequest, project: Project, pages: Callable[[], Iterable[PageFolder]]) -> HttpResponse:
    """Show the results for the words of the query string; without words, the latest rows."""
    q = " ".join(clean(request.GET.get("q", ""))[:LONGEST].split())
    shown = [page for page in pages() if page.right == Right.READ or may(request.user, project, page.right)]
    context = {
        "project": project,
        "page": "find",
        "q": q,
        "groups": (
            ("Sessions", "", queries.sessions(project, q, request.user.pk or 0)),
            ("Evaluations", "columns-3", queries.evaluations(project, q)),
            ("Agents", "bot", queries.agents(project, q)),
        ),
        "actions": actions(project.slug, q, shown, views_of(request, project)),
    }
    return render(request, "search/_results.html" if request.htmx else "search/index.html", context)

"""Views of the welcome page."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from dashboard.pages.welcome.live import FIRST
from dashboard.pages.welcome.snippets import snippets
from dashboard.security.access import member, people_with, require, rights
from dashboard.security.actor import actor_of
from dashboard.web import links
from recorder.access.rights import Right
from recorder.models import Project
from recorder.operations.audited.tokens import issue_token


@require_safe
@member
def welcome(request: HttpRequest, project: Project) -> HttpResponse:
    """Show how to send the first event."""
    return _page(request, project)


@require_POST
@never_cache
@member
def make_token(request: HttpRequest, project: Project) -> HttpResponse:
    """Create an ingest token and show it in the programs, once: only its hash is stored."""
    user = require(request, project, Right.MANAGE_TOKENS)
    token = issue_token(project, "first run", ["ingest"], user, actor_of(request))
    return _page(request, project, token)


def _page(request: HttpRequest, project: Project, token: str = "") -> HttpResponse:
    may = rights(request.user, project)
    shown = {
        "project": project,
        "may": may,
        "token_makers": [] if may["manage_tokens"] else people_with(project, Right.MANAGE_TOKENS),
        "page": "sessions",
        "ws_url": links.live(project.slug, "welcome"),
        "first": FIRST.draw([project.pk])[project.pk],
        "token": token,
        "snippets": snippets(request.build_absolute_uri("/").rstrip("/"), token),
    }
    return render(request, "welcome/index.html", shown)

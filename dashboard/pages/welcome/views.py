"""Views of the welcome page."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from dashboard.pages.welcome.live import FIRST
from dashboard.pages.welcome.snippets import snippets
from dashboard.security.access import member, require
from dashboard.web import links
from recorder.access import tokens
from recorder.models import Membership, Project


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
    user = require(request, project, Membership.Role.MEMBER)
    return _page(request, project, tokens.issue(project, "first run", ["ingest"], user=user))


def _page(request: HttpRequest, project: Project, token: str = "") -> HttpResponse:
    shown = {
        "project": project,
        "page": "sessions",
        "ws_url": links.live(project.slug, "welcome"),
        "first": FIRST.draw([project.pk])[project.pk],
        "token": token,
        "snippets": snippets(request.build_absolute_uri("/").rstrip("/"), token),
    }
    return render(request, "welcome/index.html", shown)

"""Views of a project's settings. Members create tokens; admins rename the project and revoke tokens."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from dashboard.pages.settings import queries
from dashboard.security.access import may, member, require
from dashboard.web import links
from dashboard.web.errors import refused
from dashboard.web.query_params import whole_number
from recorder import __version__
from recorder.access import tokens
from recorder.models import Membership, Project

TITLE_LENGTH = 200
NAME_LENGTH = 200
MOST_DAYS = 36_500
DAYS = (7, 14, 30, 60, 90, 180, 365)


@require_safe
@member
def settings(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the settings."""
    return _page(request, project)


@require_POST
@member
def rename(request: HttpRequest, project: Project) -> HttpResponse:
    """Change the title of the project; its URL stays."""
    require(request, project, Membership.Role.ADMIN)
    project.title = _line(request, "title", TITLE_LENGTH)
    project.save(update_fields=["title"])
    return redirect("settings", project.slug)


@require_POST
@member
def retention(request: HttpRequest, project: Project) -> HttpResponse:
    """Change for how many days content is kept."""
    require(request, project, Membership.Role.ADMIN)
    given = request.POST.get("days", "")
    days = whole_number(given)
    if given and not 1 <= (days or 0) <= MOST_DAYS:
        return refused(request, f"Enter 1 to {MOST_DAYS} days, or nothing to keep content forever.")
    project.retention_days = days
    project.save(update_fields=["retention_days"])
    return redirect(reverse("settings", args=[project.slug]) + "#retention")


@require_POST
@never_cache
@member
def make_token(request: HttpRequest, project: Project) -> HttpResponse:
    """Create a token and show it once."""
    user = require(request, project, Membership.Role.MEMBER)
    name = _line(request, "name", NAME_LENGTH)
    try:
        token = tokens.issue(project, name, request.POST.getlist("scope"), user=user)
    except ValueError:
        return refused(request, "Select a scope: ingest, read or both.")
    return _page(request, project, name, token)


@require_POST
@member
def revoke_token(request: HttpRequest, project: Project, key: str) -> HttpResponse:
    """Revoke a token."""
    require(request, project, Membership.Role.ADMIN)
    tokens.revoke(key, project)
    return redirect(reverse("settings", args=[project.slug]) + "#tokens")


def _page(request: HttpRequest, project: Project, name: str = "", token: str = "") -> HttpResponse:
    shown = {
        "project": project,
        "page": "settings",
        "ws_url": links.live(project.slug, "settings"),
        "is_member": may(request.user, project, Membership.Role.MEMBER),
        "is_admin": may(request.user, project, Membership.Role.ADMIN),
        "new_name": name,
        "new_token": token,
        "tokens": queries.tokens(project),
        "members": queries.members(project),
        "recorded": queries.recorded(project),
        "days": sorted({*DAYS, project.retention_days or DAYS[0]}),
        "pruned": queries.pruned(project),
        "database": queries.database(),
        "version": __version__,
    }
    return render(request, "settings/index.html", shown)


def _line(request: HttpRequest, name: str, limit: int) -> str:
    """Return a submitted text as one printable line of limited length."""
    text = "".join(char if char.isprintable() else " " for char in request.POST.get(name, ""))
    return " ".join(text.split())[:limit]

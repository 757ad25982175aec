"""Views of a project's settings. Who may change what: `recorder/access/rights.py`."""

from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from dashboard.pages.settings import queries, retention, scores
from dashboard.security.access import member, require, rights
from dashboard.security.actor import actor_of
from dashboard.web import links
from dashboard.web.errors import refused
from dashboard.web.query_params import whole_number
from recorder import __version__
from recorder.access.rights import Right
from recorder.models import Note, Project
from recorder.notes.errors import Refused
from recorder.operations import audit
from recorder.operations.audited.tokens import check_days, issue_token, revoke_tokens, rotate_token

TITLE_LENGTH = 200
NAME_LENGTH = 200
TOKEN_DAYS = (7, 30, 90, 365)  # offered periods after which a token expires


@require_safe
@member
def settings(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the settings."""
    return _page(request, project)


@require_POST
@member
def rename(request: HttpRequest, project: Project) -> HttpResponse:
    """Change the title of the project; its URL stays."""
    require(request, project, Right.CHANGE_SETTINGS)
    before, project.title = project.title, _line(request, "title", TITLE_LENGTH)
    with transaction.atomic():
        project.save(update_fields=["title"])
        audit.record(
            project, actor_of(request), "project.rename", project.slug, before=before, after=project.title
        )
    return redirect("settings", project.slug)


@require_POST
@never_cache
@member
def make_token(request: HttpRequest, project: Project) -> HttpResponse:
    """Create a token and show it once."""
    user = require(request, project, Right.MANAGE_TOKENS)
    name = _line(request, "name", NAME_LENGTH)
    scopes = request.POST.getlist("scope")
    sent = request.POST.get("days", "")
    days = whole_number(sent) or 0 if sent else None
    try:
        check_days(days)
    except ValueError as error:
        return refused(request, str(error))
    try:
        token = issue_token(project, name, scopes, user, actor_of(request), days=days)
    except ValueError:
        return refused(request, "Select a scope: ingest, read or both.")
    return _page(request, project, name, token)


@require_POST
@never_cache
@member
def rotate(request: HttpRequest, project: Project, key: str) -> HttpResponse:
    """Give a token a successor and show it once; both work for a day."""
    user = require(request, project, Right.MANAGE_TOKENS)
    if not queries.is_token(project, key):
        raise Http404
    token = rotate_token(project, key, user, actor_of(request))
    if token is None:
        return refused(request, "The token was revoked, has expired, or has a successor already.", 409)
    return _page(request, project, "Successor", token)


@require_POST
@member
def revoke_token(request: HttpRequest, project: Project, key: str) -> HttpResponse:
    """Revoke a token."""
    require(request, project, Right.MANAGE_TOKENS)
    revoke_tokens(key, project, actor_of(request))
    return redirect(reverse("settings", args=[project.slug]) + "#tokens")


@require_POST
@member
def define_score(request: HttpRequest, project: Project) -> HttpResponse:
    """Define a score, or change or delete a definition."""
    user = require(request, project, Right.CHANGE_SETTINGS)
    try:
        scores.write(project, request.POST, user.get_username(), actor_of(request))
    except Refused as error:
        return refused(request, str(error))
    return redirect(reverse("settings", args=[project.slug]) + "#scores")


def _page(request: HttpRequest, project: Project, name: str = "", token: str = "") -> HttpResponse:
    may = rights(request.user, project)
    shown = {
        "project": project,
        "page": "settings",
        "ws_url": links.live(project.slug, "settings"),
        "may": may,
        "new_name": name,
        "new_token": token,
        "tokens": queries.tokens(project, with_addresses=may[Right.MANAGE_TOKENS]),
        "scores": queries.defined_scores(project),
        "score_targets": Note.Target.choices,
        "score_sources": Note.Source.choices,
        "recorded": queries.recorded(project),
        "token_days": TOKEN_DAYS,
        "periods": retention.offered(project),
        "pruned": queries.pruned(project),
        "database": queries.database(),
        "version": __version__,
    }
    return render(request, "settings/index.html", shown)


def _line(request: HttpRequest, name: str, limit: int) -> str:
    """Return a submitted text as one printable line of limited length."""
    text = "".join(char if char.isprintable() else " " for char in request.POST.get(name, ""))
    return " ".join(text.split())[:limit]

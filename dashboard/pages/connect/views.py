"""Views of the page."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from dashboard.pages.connect.live import ARRIVAL
from dashboard.pages.connect.queries import made
from dashboard.pages.connect.senders import check, senders
from dashboard.security.access import member, people_with, require, rights
from dashboard.security.actor import actor_of
from dashboard.web import links
from recorder.access.rights import Right
from recorder.models import Project
from recorder.operations.audited.tokens import issue_token


@require_safe
@member
def connect(request: HttpRequest, project: Project) -> HttpResponse:
    """Show how to connect the agent that the URL names."""
    return _page(request, project, request.GET.get("agent", ""))


@require_POST
@never_cache
@member
def make_token(request: HttpRequest, project: Project) -> HttpResponse:
    """Create an ingest token and show it in the lines, once: only its hash is stored."""
    user = require(request, project, Right.MANAGE_TOKENS)
    agent = request.POST.get("agent", "")
    name = next((each.name for each in senders("", "") if each.key == agent), "agent")
    token = issue_token(project, name, ["ingest"], user, actor_of(request))
    return _page(request, project, agent, token)


@require_safe
@member
def welcome(_request: HttpRequest, project: Project) -> HttpResponse:
    """Redirect the address of the former welcome page."""
    return redirect("connect", project.slug)


def _page(request: HttpRequest, project: Project, agent: str, token: str = "") -> HttpResponse:
    origin = request.build_absolute_uri("/").rstrip("/")
    every = senders(origin, token)
    chosen = next((each for each in every if each.key == agent), None if agent else every[0])
    if chosen is None:
        raise Http404
    key = made(project.pk, token)
    query = {"token": str(key)} if key is not None else {}
    may = rights(request.user, project)
    shown = {
        "project": project,
        "may": may,
        "token_makers": [] if may["manage_tokens"] else people_with(project, Right.MANAGE_TOKENS),
        "page": "connect",
        "ws_url": links.live(project.slug, "connect", **query),
        "arrival": ARRIVAL.draw([key])[key] if key is not None else "",
        "token": token,
        "check": check(origin, token),
        "senders": every,
        "chosen": chosen,
    }
    return render(request, "connect/index.html", shown)

"""Views of the page. A token that was just created is shown once, by the page that the form redirects to."""

from collections.abc import Sequence
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.cache import add_never_cache_headers
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from dashboard.pages.connect.live import ARRIVAL
from dashboard.pages.connect.queries import made, token_of
from dashboard.pages.connect.senders import Sender, check, senders
from dashboard.security.access import member, people_with, require, rights
from dashboard.security.actor import actor_of
from dashboard.web import links
from recorder.access.rights import Right
from recorder.models import Project
from recorder.operations.audited.tokens import issue_token

COOKIE = "loopscope_new_token"  # a cookie that holds it between the form and the page that shows it
COOKIE_S = 60


@require_safe
@member
def connect(request: HttpRequest, project: Project) -> HttpResponse:
    """Show how to connect the agent that the URL names, with the token that was just created, if any."""
    sent = request.get_signed_cookie(COOKIE, "", salt=_salt(request), max_age=COOKIE_S) or ""
    key = made(project.pk, sent)
    response = _page(request, project, key, sent if key is not None else "")
    if key is not None:
        add_never_cache_headers(response)
        response.delete_cookie(COOKIE, reverse("connect", args=[project.slug]), samesite="Strict")
    return response


@require_POST
@never_cache
@member
def make_token(request: HttpRequest, project: Project) -> HttpResponse:
    """Create an ingest token for a sender, and redirect to the page that shows it once.

    Only its hash is stored: until it is shown, the browser keeps the token in a signed cookie.
    """
    user = require(request, project, Right.MANAGE_TOKENS)
    sender = _sender(senders("", ""), request.POST.get("agent", ""))
    token = issue_token(project, sender.name, ["ingest"], user, actor_of(request))
    path = reverse("connect", args=[project.slug])
    response = redirect(f"{path}?{urlencode({'agent': sender.key, 'token': made(project.pk, token)})}")
    response.set_signed_cookie(
        COOKIE,
        token,
        salt=_salt(request),
        max_age=COOKIE_S,
        path=path,
        secure=request.is_secure(),
        httponly=True,
        samesite="Strict",
    )
    return response


@require_safe
@member
def welcome(_request: HttpRequest, project: Project) -> HttpResponse:
    """Redirect the address of the former welcome page."""
    return redirect("connect", project.slug)


def _salt(request: HttpRequest) -> str:
    """Return the salt of the cookie's signature: another user of the browser is not shown the token."""
    return f"{COOKIE}.{request.user.pk}"


def _sender(every: Sequence[Sender], key: str) -> Sender:
    """Return a sender. Raises Http404 if there is none."""
    sender = next((known for known in every if known.key == key), None)
    if sender is None:
        raise Http404
    return sender


def _page(request: HttpRequest, project: Project, key: int | None, token: str) -> HttpResponse:
    """Render the page, with what arrived since a token was made: `key`, else the one that the URL names."""
    origin = request.build_absolute_uri("/").rstrip("/")
    every = senders(origin, token)
    agent = request.GET.get("agent", "")
    chosen = _sender(every, agent) if agent else every[0]
    if key is None:
        key = token_of(project.pk, request.GET.get("token", ""))
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

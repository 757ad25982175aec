"""Users and projects of the installation. For superusers; to others the pages do not exist."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec

from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from dashboard.pages.account import queries
from dashboard.security.actor import actor_of
from recorder.access import signin_links
from recorder.operations.people import projects, users
from recorder.operations.people.errors import Refused

if TYPE_CHECKING:
    from recorder.operations.audit import Actor

P = ParamSpec("P")


def superuser(view: Callable[Concatenate[HttpRequest, P], HttpResponse]) -> Callable[..., HttpResponse]:
    """Decorate a view: 404 for users who are no superuser; redirect to the sign-in page without a user."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path())
        if not getattr(request.user, "is_superuser", False):
            raise Http404
        return view(request, *args, **kwargs)

    return guarded


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@superuser
def index(request: HttpRequest) -> HttpResponse:
    """Show all users; create one and show its sign-in link once."""
    if request.method != "POST":
        return _page(request)
    actor = actor_of(request)
    try:
        with transaction.atomic():
            user = users.create(
                request.POST.get("name", ""),
                actor,
                email=request.POST.get("email", "").strip(),
                is_superuser="superuser" in request.POST,
            )
            secret = users.make_link(user, actor)
    except Refused as error:
        return _page(request, str(error), 400)
    return _page(request, link_of=user, secret=secret)


@require_POST
@never_cache
@superuser
def change(request: HttpRequest, pk: int) -> HttpResponse:
    """Disable or enable a user, make it a superuser or not, or show a new sign-in link."""
    user, action = queries.user_of(pk), request.POST.get("action", "")
    if user is None or action not in {*CHANGES, LINK}:
        raise Http404
    try:
        if action == LINK:
            return _page(request, link_of=user, secret=users.make_link(user, actor_of(request)))
        CHANGES[action](user, actor_of(request))
    except Refused as error:
        return _page(request, str(error), 409)
    return redirect("users")


@require_POST
@superuser
def create_project(request: HttpRequest) -> HttpResponse:
    """Create a project and open it."""
    try:
        project = projects.create(
            request.POST.get("slug", "").strip(), request.POST.get("title", ""), actor_of(request)
        )
    except Refused as error:
        return _page(request, str(error), 400)
    return redirect("connect", project.slug)


LINK = "link"  # the action whose answer shows a new sign-in link
CHANGES: dict[str, Callable[[User, Actor], None]] = {
    "disable": lambda user, actor: users.set_active(user, actor, is_active=False),
    "enable": lambda user, actor: users.set_active(user, actor, is_active=True),
    "superuser": lambda user, actor: users.set_superuser(user, actor, is_superuser=True),
    "no-superuser": lambda user, actor: users.set_superuser(user, actor, is_superuser=False),
}


def _page(
    request: HttpRequest,
    problem: str = "",
    status: int = 200,
    link_of: User | None = None,
    secret: str = "",
) -> HttpResponse:
    link = reverse("signin-link", args=[secret]) if secret else ""
    shown = {
        "page": "users",
        "users": queries.users(),
        "all_projects": queries.projects(),
        "problem": problem,
        "link": request.build_absolute_uri(link) if link else "",
        "link_of": link_of,
        "minutes": int(signin_links.LIFETIME.total_seconds() // 60),
    }
    return render(request, "people/users.html", shown, status=status)

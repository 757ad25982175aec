"""Who may see what: every page, socket and API asks here, and whatever is not granted does not exist."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Concatenate, ParamSpec

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.utils.http import url_has_allowed_host_and_scheme
from django_htmx.middleware import HtmxDetails

from recorder.access import tokens
from recorder.models import Membership, Project

P = ParamSpec("P")
Visitor = AbstractBaseUser | AnonymousUser
STAIR = Membership.Role.values


class HtmxRequest(HttpRequest):
    """A request as views get it from django-htmx's middleware; for annotations, as its manual has it."""

    htmx: HtmxDetails


class NotSignedIn(Exception):
    """Neither a user is signed in nor a token says who reads."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads one project through the API: a signed-in user, or a token with scope read."""

    project: Project
    user: AbstractBaseUser | None = None


def projects_of(user: Visitor) -> QuerySet[Project]:
    """Return the projects that `user` may see, in the order in which they were made."""
    projects = Project.objects.order_by("id")
    if not isinstance(user, User) or not user.is_active:
        return projects.none()
    return projects if user.is_superuser else projects.filter(memberships__user=user)


def project_for(request: HttpRequest, slug: str) -> Project:
    """Return a project of the one who asks. Raises Http404 whether it is unknown or not theirs."""
    project = projects_of(request.user).filter(slug=slug).first()
    if project is None:
        raise Http404
    return project


def member(
    view: Callable[Concatenate[HtmxRequest, Project, P], HttpResponse],
) -> Callable[..., HttpResponseBase]:
    """Give a view the project its address names; whoever is not signed in is sent to the sign-in page."""

    @wraps(view)
    def guarded(request: HtmxRequest, slug: str, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path())
        return view(request, project_for(request, slug), *args, **kwargs)

    return guarded


def may(user: AbstractBaseUser | AnonymousUser, project: Project, least: Membership.Role) -> bool:
    """Say whether a user has at least this role; viewer, member and admin are steps of one stair."""
    if getattr(user, "is_superuser", False):
        return True
    roles = project.memberships.filter(user_id=user.pk or 0).values_list("role", flat=True)
    return any(STAIR.index(role) >= STAIR.index(least.value) for role in roles)


def require(request: HttpRequest, project: Project, least: Membership.Role) -> User:
    """Return who asks, if they have at least this role. Raises PermissionDenied."""
    if not isinstance(request.user, User) or not may(request.user, project, least):
        raise PermissionDenied
    return request.user


def reader(request: HttpRequest) -> Reader:
    """Return who asks the API.

    Raises NotSignedIn, PermissionDenied (a token without scope read) or Http404.
    """
    bearer = tokens.bearer(request.headers.get("Authorization", ""))
    if bearer is not None:
        return _token_reader(request, bearer)
    if not request.user.is_authenticated:
        raise NotSignedIn
    mine, slug = projects_of(request.user), request.GET.get("project")
    if slug:
        mine = mine.none() if "\0" in slug else mine.filter(slug=slug)
    project = mine.first()
    if project is None:
        raise Http404
    return Reader(project, request.user)


def _token_reader(request: HttpRequest, bearer: str) -> Reader:
    token = tokens.find(bearer)
    if token is None:
        raise NotSignedIn
    if not tokens.allows(token, "read"):
        raise PermissionDenied
    if request.GET.get("project", token.project.slug) != token.project.slug:
        raise Http404
    return Reader(token.project)


def next_place(request: HttpRequest, after: str) -> str:
    """Return where a form wants to lead to if that is a page of ours, else the front door."""
    is_ours = url_has_allowed_host_and_scheme(after, {request.get_host()}, require_https=request.is_secure())
    return after if is_ours and after.startswith("/") else "/"

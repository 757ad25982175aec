"""Access checks of pages, sockets and the API. A project that the user may not see is a 404."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Concatenate, ParamSpec

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponseBase
from django.utils.http import url_has_allowed_host_and_scheme
from django_htmx.middleware import HtmxDetails

from recorder.access import tokens
from recorder.models import Membership, Project

P = ParamSpec("P")
Visitor = AbstractBaseUser | AnonymousUser
STAIR = Membership.Role.values


class HtmxRequest(HttpRequest):
    """A request with django-htmx's attribute, for annotations, as its manual recommends."""

    htmx: HtmxDetails


class NotSignedIn(Exception):
    """The request has neither a signed-in user nor a valid token."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Reader of one project through the API: a signed-in user, or a token with scope read."""

    project: Project
    user: AbstractBaseUser | None = None


def projects_of(user: Visitor) -> QuerySet[Project]:
    """Return the projects that `user` may see, oldest first."""
    projects = Project.objects.order_by("id")
    if not isinstance(user, User) or not user.is_active:
        return projects.none()
    return projects if user.is_superuser else projects.filter(memberships__user=user)


def project_for(request: HttpRequest, slug: str) -> Project:
    """Return a project that `user` may see. Raises Http404 if it is unknown or not visible."""
    project = projects_of(request.user).filter(slug=slug).first()
    if project is None:
        raise Http404
    return project


def member(
    view: Callable[Concatenate[HtmxRequest, Project, P], HttpResponseBase],
) -> Callable[..., HttpResponseBase]:
    """Decorate a view: pass the project of the URL; redirect to the sign-in page without a user."""

    @wraps(view)
    def guarded(request: HtmxRequest, slug: str, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path())
        return view(request, project_for(request, slug), *args, **kwargs)

    return guarded


def may(user: AbstractBaseUser | AnonymousUser, project: Project, least: Membership.Role) -> bool:
    """Whether a user has at least this role; the roles are viewer, member, admin in ascending order."""
    if getattr(user, "is_superuser", False):
        return True
    roles = project.memberships.filter(user_id=user.pk or 0).values_list("role", flat=True)
    return any(STAIR.index(role) >= STAIR.index(least.value) for role in roles)


def require(request: HttpRequest, project: Project, least: Membership.Role) -> User:
    """Return the user of the request. Raises PermissionDenied without at least this role."""
    if not isinstance(request.user, User) or not may(request.user, project, least):
        raise PermissionDenied
    return request.user


def reader(request: HttpRequest) -> Reader:
    """Return the reader of an API request.

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
    """Return the redirect target of a form if it is on this site, else the start page."""
    is_ours = url_has_allowed_host_and_scheme(after, {request.get_host()}, require_https=request.is_secure())
    return after if is_ours and after.startswith("/") else "/"

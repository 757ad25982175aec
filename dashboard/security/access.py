"""Access checks of pages, sockets and the API. A project that the user may not see is a 404."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Concatenate, ParamSpec

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db.models import F, QuerySet
from django.http import Http404, HttpRequest, HttpResponseBase
from django.utils.http import url_has_allowed_host_and_scheme
from django_htmx.middleware import HtmxDetails

from dashboard.security.address import address_of
from dashboard.security.shared_view import SharedView, shared_view
from dashboard.web.errors import ProjectArchived
from recorder.access import tokens
from recorder.access.rights import ASCENDING, Right, is_usable, role_has
from recorder.models import Membership, Project

PEOPLE_SHOWN = 10

P = ParamSpec("P")
Visitor = AbstractBaseUser | AnonymousUser


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
    token: str = ""  # public part of the token


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


def shared_project(shared: SharedView, slug: str) -> Project:
    """Return the project of a share link. Raises Http404 if the slug is that of another one."""
    if shared.project.slug != slug:
        raise Http404
    return shared.project


def member(
    view: Callable[Concatenate[HtmxRequest, Project, P], HttpResponseBase],
) -> Callable[..., HttpResponseBase]:
    """Decorate a view: pass the project of the URL; redirect to the sign-in page without a user.

    Through a share link it passes the link's project, and raises Http404 for another one.
    """

    @wraps(view)
    def guarded(request: HtmxRequest, slug: str, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        shared = shared_view(request)
        if shared is not None:
            return view(request, shared_project(shared, slug), *args, **kwargs)
        if not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path())
        return view(request, project_for(request, slug), *args, **kwargs)

    return guarded


def role(user: AbstractBaseUser | AnonymousUser, project: Project) -> Membership.Role | None:
    """Return the highest role of a user in a project, None without any. Superusers are admins everywhere."""
    if getattr(user, "is_superuser", False):
        return Membership.Role.ADMIN
    roles = project.memberships.filter(user_id=user.pk or 0).values_list("role", flat=True)
    found = max(roles, key=ASCENDING.index, default=None)
    return None if found is None else Membership.Role(found)


def may(user: AbstractBaseUser | AnonymousUser, project: Project, right: Right) -> bool:
    """Whether a user has a right in a project, which may be archived. One query, none for superusers."""
    return has(role(user, project), project, right)


def has(held: Membership.Role | None, project: Project, right: Right) -> bool:
    """Whether a role has a right in a project, which may be archived."""
    return role_has(held, right) and is_usable(right, is_archived=project.archived_at is not None)


def rights(user: AbstractBaseUser | AnonymousUser, project: Project) -> Mapping[str, bool]:
    """Return whether a user has each right, by its name, as templates read it. One query at most."""
    held = role(user, project)
    return {right.value: has(held, project, right) for right in Right}


def people_with(project: Project, right: Right) -> Sequence[str]:
    """Return the names of members who have a right, at most 10; superusers if no member has it."""
    roles = [name for name in Membership.Role if role_has(name, right)]
    users = User.objects.filter(is_active=True).order_by("username")
    members = users.filter(memberships__project=project, memberships__role__in=roles)
    found = members if members.exists() else users.filter(is_superuser=True)
    return list(found.values_list("username", flat=True)[:PEOPLE_SHOWN])


def require(request: HttpRequest, project: Project, right: Right) -> User:
    """Return the user of the request. Raises PermissionDenied without the right, or ProjectArchived."""
    held = role(request.user, project)
    if not isinstance(request.user, User) or not role_has(held, right):
        raise PermissionDenied
    if not has(held, project, right):
        raise ProjectArchived
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
    mine = mine.order_by(F("archived_at").asc(nulls_first=True), "pk")
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
    if not tokens.has_right(token, Right.READ):
        raise PermissionDenied
    if request.GET.get("project", token.project.slug) != token.project.slug:
        raise Http404
    tokens.note_use(token, address_of(request))
    return Reader(token.project, token=token.key)


def next_place(request: HttpRequest, after: str) -> str:
    """Return the redirect target of a form if it is on this site, else the start page."""
    is_ours = url_has_allowed_host_and_scheme(after, {request.get_host()}, require_https=request.is_secure())
    return after if is_ours and after.startswith("/") else "/"

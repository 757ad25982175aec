"""The project of an authenticated API request, and the author of a request that writes."""

from typing import cast

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from ninja.utils import check_csrf

from dashboard.security.access import NotSignedIn, Reader, may, reader
from dashboard.security.actor import actor_of
from dashboard.security.address import address_of
from dashboard.web.errors import ProjectArchived
from recorder.access import tokens
from recorder.access.rights import Right, least_role
from recorder.models import Project
from recorder.notes.write import Author
from recorder.operations.audit import Actor


def reader_of(request: HttpRequest) -> Reader:
    """Return who reads: a user or a token."""
    return cast("Reader", request.auth)  # type: ignore[attr-defined]  # set by django-ninja


def project_of(request: HttpRequest) -> Project:
    """Return the project of an authenticated request: the token's, or the one the user selected."""
    return reader_of(request).project


def author_of(request: HttpRequest) -> Author:
    """Return who writes: the signed-in user, or the program that has the token."""
    return cast("Author", request.author)  # type: ignore[attr-defined]  # set by `writer`


def writer(request: HttpRequest) -> Reader:
    """Authenticate a request that writes notes: a token with scope ingest, or a member's session.

    Raises NotSignedIn, PermissionDenied or Http404.
    """
    bearer = tokens.bearer(request.headers.get("Authorization", ""))
    if bearer is None:
        return _member(request)
    token = tokens.find(bearer)
    if token is None:
        raise NotSignedIn
    if not tokens.has_right(token, Right.WRITE_NOTES):
        refuse_archived(token.project)
        raise PermissionDenied("This token does not have scope ingest.")
    tokens.note_use(token, address_of(request))
    request.author = Author(token.name, "code", token=token.pk)  # type: ignore[attr-defined]
    return Reader(token.project, token=token.key)


def _member(request: HttpRequest) -> Reader:
    caller = reader(request)
    user = caller.user
    if check_csrf(request) is not None:  # a cookie is sent by every page, also of other sites
        raise PermissionDenied("The CSRF token is missing or wrong.")
    if not isinstance(user, User) or not may(user, caller.project, Right.WRITE_NOTES):
        refuse_archived(caller.project)
        raise PermissionDenied("Viewers cannot write notes.")
    is_admin = may(user, caller.project, Right.CHANGE_ALL_NOTES)
    request.author = Author(user.get_username(), user=user, is_admin=is_admin)  # type: ignore[attr-defined]
    return caller


def project_with(request: HttpRequest, right: Right) -> Project:
    """Return the project of a request by a person with a right. Raises PermissionDenied, also for tokens."""
    caller = reader_of(request)
    if caller.user is None or not may(request.user, caller.project, right):
        refuse_archived(caller.project)
        raise PermissionDenied(f"Only {least_role(right)}s of the project may do this.")
    return caller.project


def acting(request: HttpRequest) -> Actor:
    """Return who reads or writes, for the audit log."""
    caller = reader_of(request)
    actor = actor_of(request)
    return Actor("token", caller.token, actor.address) if caller.token else actor


def refuse_archived(project: Project) -> None:
    """Raise ProjectArchived for a project in which nothing can be changed, whatever the rights."""
    if project.archived_at is not None:
        raise ProjectArchived

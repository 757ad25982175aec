"""User of a session cookie and the projects they may see, for sockets and streams.

In a thread of the caller's: `channels.auth.get_user` waits for Django's shared thread, and reads a cached
session. `recheck.py` checks connections that stay open.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib.auth import get_user
from django.db import close_old_connections
from django.http import HttpRequest

from dashboard.security.access import projects_of

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

    from recorder.models import Project


class SignedOut(Exception):
    """The session has no user, or not any more."""


class NotAMember(Exception):
    """The project does not exist or the user may not see it."""


def project_of(user: AbstractBaseUser | AnonymousUser, slug: str) -> Project:
    """Return the project of that name that `user` may see. Raises SignedOut or NotAMember."""
    with _tidy_connections():
        return _project(user, slug)


def user_of(session_key: str | None) -> AbstractBaseUser | AnonymousUser:
    """Return the current user of a session; AnonymousUser if there is none."""
    with _tidy_connections():
        return _user(session_key)


def _project(user: AbstractBaseUser | AnonymousUser, slug: str) -> Project:
    if not user.is_authenticated:
        raise SignedOut
    project = projects_of(user).filter(slug=slug).first()
    if project is None:
        raise NotAMember
    return project


def _user(session_key: str | None) -> AbstractBaseUser | AnonymousUser:
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(session_key)
    return get_user(request)


@contextmanager
def _tidy_connections() -> Iterator[None]:
    """Close unusable database connections before and after, as Django does around a request."""
    close_old_connections()
    try:
        yield
    finally:
        close_old_connections()

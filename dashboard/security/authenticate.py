"""Who is signed in on a session cookie, and which project they may see: for sockets and streams.

Channels' auth middleware says who opens a page socket. A connection that stays asks again here, in a thread
of its caller's: `channels.auth.get_user` waits for Django's shared thread, and reads the session as it was.
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
    """Nobody is signed in on that cookie, or no longer."""


class NotAMember(Exception):
    """There is no such project for this user."""


def authenticate(session_key: str | None, slug: str) -> Project:
    """Return the project, if a member of it is signed in on this session. Raises SignedOut or NotAMember."""
    with _tidy_connections():
        return _project(_user(session_key), slug)


def project_of(user: AbstractBaseUser | AnonymousUser, slug: str) -> Project:
    """Return the project of that name that `user` may see. Raises SignedOut or NotAMember."""
    with _tidy_connections():
        return _project(user, slug)


def user_of(session_key: str | None) -> AbstractBaseUser | AnonymousUser:
    """Return who is signed in on a session, now; nobody if there is none."""
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
    """Do for a query of ours what Django does for a request: no dead connection before, none left over."""
    close_old_connections()
    try:
        yield
    finally:
        close_old_connections()

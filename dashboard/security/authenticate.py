"""Who is at the other end of a page socket: the user of its cookie, and what they may see."""

from __future__ import annotations

from http.cookies import CookieError, SimpleCookie
from importlib import import_module
from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib.auth import get_user
from django.db import close_old_connections
from django.http import Http404, HttpRequest

from dashboard.security.access import project_for

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

    from recorder.models import Project


class SignedOut(Exception):
    """Nobody is signed in on that cookie, or no longer."""


class NotAMember(Exception):
    """There is no such project for this user."""


def session_key(headers: list[tuple[bytes, bytes]]) -> str:
    """Return the session cookie of a handshake, "" if there is none."""
    cookie: SimpleCookie = SimpleCookie()
    try:
        cookie.load("; ".join(value.decode("latin-1") for name, value in headers if name == b"cookie"))
    except CookieError:
        return ""
    morsel = cookie.get(settings.SESSION_COOKIE_NAME)
    return morsel.value if morsel else ""


def admit(key: str, slug: str) -> tuple[AbstractBaseUser | AnonymousUser, Project]:
    """Return who looks at what. Raises SignedOut or NotAMember."""
    close_old_connections()
    try:
        request = _request(key)
        if not request.user.is_authenticated:
            raise SignedOut
        return request.user, project_for(request, slug)
    except Http404 as error:
        raise NotAMember from error
    finally:
        close_old_connections()


def user_of(key: str) -> AbstractBaseUser | AnonymousUser:
    """Return who is signed in on a session cookie."""
    close_old_connections()
    try:
        return _request(key).user
    finally:
        close_old_connections()


def _request(key: str) -> HttpRequest:
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(key or None)
    request.user = get_user(request)
    return request

"""Signing in without the extra `sso`: a password or a one-time link, and nothing else on the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib.auth import login
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from dashboard.security.actor import actor_of
from recorder.operations import audit
from recorder.operations.people.errors import Refused

if TYPE_CHECKING:
    from recorder.models import Invite


def offered(request: HttpRequest) -> dict[str, object]:
    """Return what the sign-in page offers beside the password."""
    return {}


def after_password(request: HttpRequest, user: User, after: str) -> HttpResponse:
    """Sign in a user whose password was right, and redirect to `after`."""
    login(request, user)
    audit.record(None, actor_of(request), "signin", "password")
    return redirect(after)


def can_use_passkeys(request: HttpRequest) -> bool:
    """Return False: passkeys need the extra."""
    return False


def join_with_passkey(
    request: HttpRequest, secret: str, invite: Invite, name: str, email: str
) -> HttpResponse:
    """Refuse: passkeys need the extra."""
    raise Refused("This server has no passkeys.")

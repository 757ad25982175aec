"""The actor of a request, for the audit log."""

from __future__ import annotations

from dataclasses import replace

from django.contrib.auth.models import User
from django.http import HttpRequest

from dashboard.security.address import address_of
from recorder.operations.audit import Actor


def unknown(request: HttpRequest, name: str = "") -> Actor:
    """Return someone who calls themselves `name` and is not known, and the address."""
    return Actor("unknown", name, address_of(request))


def actor_of(request: HttpRequest) -> Actor:
    """Return the signed-in user of a request, else someone unknown, and the address."""
    someone = unknown(request)
    if isinstance(request.user, User):
        user = request.user
        return replace(someone, kind="user", name=user.get_username(), is_superuser=user.is_superuser)
    return someone

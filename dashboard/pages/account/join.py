"""Joining a project by an invite: as the signed-in user, or as a new one with a password or a passkey.

Who has the link may join. The address of an invite says whom it was made for and is not checked: addresses
of accounts are not confirmed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from dashboard.pages.account.responses import BACKEND, secret_response
from dashboard.pages.account.throttle import tries_left
from dashboard.security.actor import actor_of, unknown
from recorder.operations import audit
from recorder.operations.people import invites, users
from recorder.operations.people.errors import Refused

if settings.LOOPSCOPE_SSO:
    from dashboard.pages.account.sign_in_methods.join import join_with_passkey
    from dashboard.pages.account.sign_in_methods.steps import can_use_passkeys
else:
    from dashboard.pages.account.password_only import can_use_passkeys, join_with_passkey

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

    from recorder.models import Invite, Project

TOO_MANY = "Too many attempts. Wait a minute, then try again."


@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, secret: str) -> HttpResponse:
    """Show what an invite is for; with POST, join. A GET request uses nothing: mail scanners open links."""
    invite = invites.find(secret)
    if invite is None:
        return secret_response(render(request, "account/join_ended.html", status=410))
    if request.method != "POST":
        return _form(request, invite)
    try:
        if "passkey" in request.POST and not request.user.is_authenticated:
            return secret_response(_with_passkey(request, secret, invite))
        project = _join(request, secret, invite)
    except Refused as error:
        return _form(request, invite, str(error), 400)
    return secret_response(redirect("sessions", project.slug))


def _join(request: HttpRequest, secret: str, invite: Invite) -> Project:
    """Join and sign in. Raises Refused; then no user was made and the invite can still be used."""
    if isinstance(request.user, User):
        return invites.accept(secret, request.user, actor_of(request))
    if not tries_left(request):
        raise Refused(TOO_MANY)
    with transaction.atomic():
        user = _new(request, invite)
        project = invites.accept(secret, user, unknown(request, user.get_username()))
    login(request, user, BACKEND)
    audit.record(None, actor_of(request), "signin", "invite")
    return project


def _with_passkey(request: HttpRequest, secret: str, invite: Invite) -> HttpResponse:
    if not tries_left(request):
        raise Refused(TOO_MANY)
    return join_with_passkey(
        request, secret, invite, request.POST.get("username", ""), _email(request, invite)
    )


def _email(request: HttpRequest, invite: Invite) -> str:
    return request.POST.get("email", invite.email).strip()


def _new(request: HttpRequest, invite: Invite) -> User:
    name, password = request.POST.get("username", ""), request.POST.get("password", "")
    email = _email(request, invite)
    try:
        validate_password(password, User(username=name, email=email))
    except ValidationError as error:
        raise Refused(" ".join(error.messages)) from None
    return users.create(name, unknown(request, name), email=email, password=password)


def _form(request: HttpRequest, invite: Invite, problem: str = "", status: int = 200) -> HttpResponse:
    shown = {
        "invite": invite,
        "problem": problem,
        "username": request.POST.get("username", ""),
        "email": _email(request, invite),
        "here": request.path,
        "passkeys": can_use_passkeys(request),
    }
    return secret_response(render(request, "account/join.html", shown, status=status))

"""Joining by an invite with a passkey instead of a password.

The name comes first. A passkey holds the primary key of its user, so one is reserved for the new user, in the
session of the browser. When the passkey was made, the user, the passkey and the membership are stored in one
transaction: who gives up leaves nothing, and the invite can still be used.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from allauth.account.models import Login
from allauth.mfa.webauthn.internal.auth import WebAuthn, begin_registration
from allauth.mfa.webauthn.internal.flows import perform_passwordless_login
from django.contrib.auth.models import User
from django.db import transaction
from django.shortcuts import render
from django.urls import reverse

from dashboard.pages.account.sign_in_methods.forms import NewPasskeyForm
from dashboard.security.actor import unknown
from recorder.operations import audit
from recorder.operations.people import invites, users
from recorder.operations.people.errors import Refused

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

    from recorder.models import Invite

RESERVED = "join.passkey"  # in the session: the invite, and the primary key of the user to be


def join_with_passkey(
    request: HttpRequest, secret: str, invite: Invite, name: str, email: str
) -> HttpResponse:
    """Ask the browser for a passkey; with one, join and sign in.

    Raises Refused; then no user was made and the invite can still be used.
    """
    if "credential" not in request.POST:
        return _ask(request, invite, name, email)
    held = request.session.pop(RESERVED, None)
    if held is None or held[0] != invite.pk:
        raise Refused("The passkey was not made for this invite. Try again.")
    sent = {"passwordless": "on", "credential": request.POST["credential"]}
    form = NewPasskeyForm(data=sent, user=User(pk=held[1], username=name))
    if not form.is_valid():
        raise Refused("The passkey could not be checked. Try again.")
    with transaction.atomic():
        actor = unknown(request, name)
        user = users.create(name, actor, email=email, pk=held[1])
        passkey = WebAuthn.add(user, form.cleaned_data["name"], form.cleaned_data["credential"]).instance
        audit.record(None, actor, "factor.add", "passkey")
        project = invites.accept(secret, user, unknown(request, user.get_username()))
    login = Login(user=user, redirect_url=reverse("sessions", args=[project.slug]))
    response: HttpResponse = perform_passwordless_login(request, passkey, login)
    return response


def _ask(request: HttpRequest, invite: Invite, name: str, email: str) -> HttpResponse:
    with transaction.atomic():
        user = User(pk=users.reserve_key(), username=users.check_new(name, email), email=email)
    options = begin_registration(user, passwordless=True)["publicKey"]
    request.session[RESERVED] = [invite.pk, user.pk]
    shown = {"invite": invite, "username": user.username, "email": email, "options": json.dumps(options)}
    return render(request, "account/security/join_passkey.html", shown)

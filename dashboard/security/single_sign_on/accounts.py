"""The sign-in of django-allauth: by Django's own backend, with an entry in the audit log."""

from __future__ import annotations

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.internal.flows.login import get_authentication_records
from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest, HttpResponse

from dashboard.security.actor import actor_of
from dashboard.security.single_sign_on.refusal import refuse
from recorder.operations import audit

NAMES = {"socialaccount": "oidc", "webauthn": "passkey"}  # in the audit log
# Ways to confirm who is signed in, the preferred one first.
CONFIRMATIONS = {
    "reauthenticate": "Use your password",
    "mfa_reauthenticate:webauthn": "Use a passkey",
    "mfa_reauthenticate": "Use a code",
}


class Accounts(DefaultAccountAdapter):
    """Signs in after all steps, such as a second factor. Accounts are created by OpenID Connect only."""

    def login(self, request: HttpRequest, user: User) -> None:
        """Start the session, and note how the user signed in."""
        methods = _methods(request, user)
        super().login(request, user)
        audit.record(None, actor_of(request), "signin", "+".join(methods))

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Return False: accounts are made by administrators, or by their first sign-in with the provider."""
        return False

    def get_reauthentication_methods(self, user: User | AnonymousUser) -> list[dict[str, Any]]:
        """Return the ways in which a user can confirm, the preferred one first."""
        methods = {method["id"]: method for method in super().get_reauthentication_methods(user)}
        return [
            methods[name] | {"description": text} for name, text in CONFIRMATIONS.items() if name in methods
        ]

    def respond_user_inactive(self, request: HttpRequest, user: User) -> HttpResponse:
        """Refuse a user who was deactivated."""
        return refuse(request, "account", "inactive", user.get_username())


def _methods(request: HttpRequest, user: User) -> list[str]:
    """Return what the user proved, in order: password, oidc, passkey, totp, recovery_codes."""
    records = get_authentication_records(request, user)
    methods = [record.get("type") or record["method"] for record in records]
    return list(dict.fromkeys(NAMES.get(method, method) for method in methods))

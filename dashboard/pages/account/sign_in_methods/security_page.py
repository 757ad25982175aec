"""The page of a user's own sign-in methods, and the changes to them.

A change needs a confirmation by password, code or passkey of at most five minutes ago; who has none of these,
having signed in by a one-time link or the provider, needs no confirmation.
"""

from __future__ import annotations

import json
from typing import Any

from allauth.account.internal.flows.login import record_authentication
from allauth.account.views import ReauthenticateView as ConfirmPasswordView
from allauth.core.internal.httpkit import authenticated_user
from allauth.mfa.base.views import ReauthenticateView as ConfirmCodeView
from allauth.mfa.recovery_codes.views import GenerateRecoveryCodesView, ViewRecoveryCodesView
from allauth.mfa.totp.views import ActivateTOTPView, DeactivateTOTPView
from allauth.mfa.webauthn.internal.auth import begin_registration
from allauth.mfa.webauthn.views import (
    AddWebAuthnView,
    EditWebAuthnView,
    ReauthenticateWebAuthnView,
    RemoveWebAuthnView,
)
from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import redirect_to_login
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django.views.generic import View

from dashboard.pages.account import throttle
from dashboard.pages.account.sign_in_methods import queries
from dashboard.pages.account.sign_in_methods.forms import ConfirmPasskeyForm, NewPasskeyForm, PasskeyNameForm
from dashboard.pages.account.sign_in_methods.steps import can_use_passkeys
from dashboard.security.actor import actor_of
from dashboard.security.single_sign_on.refusal import refuse
from recorder.operations import audit
from recorder.operations.audit import Action


@never_cache
@require_safe
@login_required
def index(request: HttpRequest) -> HttpResponse:
    """Show the sign-in methods of the user."""
    user = authenticated_user(request)
    shown = {
        "methods": queries.sign_in_methods(user.pk),
        "has_password": user.has_usable_password(),
        "can_use_passkeys": can_use_passkeys(request),
    }
    return render(request, "account/security/index.html", shown)


class _Noted(View):
    """A change of a factor, with its entry in the audit log."""

    action: Action
    target = ""

    def form_valid(self, form: Any) -> HttpResponse:
        """Make the change. A new factor was just used, so that it confirms what follows."""
        with transaction.atomic():
            response: HttpResponse = super().form_valid(form)  # type: ignore[misc]  # of the form view
            audit.record(None, actor_of(self.request), self.action, self.target)
        if self.action == "factor.add":
            user = authenticated_user(self.request)
            record_authentication(self.request, user, "mfa", type=self.target, reauthenticated=True)
        return response


class _Confirmation(View):
    """A confirmation by password, code or passkey: limited, and noted when it fails."""

    template_name = "account/security/confirm.html"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Ask for a sign-in first; refuse after too many attempts."""
        if not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path())
        if request.method == "POST" and not throttle.code_left(request.user.pk or 0):
            return refuse(request, "confirmation", "too_many", request.user.get_username())
        return super().dispatch(request, *args, **kwargs)

    def form_valid(self, form: Any) -> HttpResponse:
        """Go on to what was to be confirmed."""
        throttle.code_was_right(self.request.user.pk or 0)
        response: HttpResponse = super().form_valid(form)  # type: ignore[misc]  # of the form view
        return response

    def form_invalid(self, form: Any) -> HttpResponse:
        """Show the form again."""
        audit.record(None, actor_of(self.request), "signin.refused", "confirmation")
        context = self.get_context_data(form=form)  # type: ignore[attr-defined]  # of the form view
        return render(self.request, self.template_name, context, status=403)


@method_decorator(never_cache, name="dispatch")
class AddPasskey(_Noted, AddWebAuthnView):
    """Adds a passkey that signs in alone: the device keeps the account and verifies its user."""

    template_name = "account/security/add_passkey.html"
    form_class = NewPasskeyForm
    action, target = "factor.add", "passkey"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Return the form and the options for the browser."""
        context: dict[str, Any] = super().get_context_data(**kwargs)
        options = begin_registration(self.request.user, passwordless=True)["publicKey"]
        return context | {"options": json.dumps(options)}


class RenamePasskey(_Noted, EditWebAuthnView):
    """Names a passkey."""

    template_name = "account/security/rename_passkey.html"
    form_class = PasskeyNameForm
    action, target = "factor.rename", "passkey"


class RemovePasskey(_Noted, RemoveWebAuthnView):
    """Removes a passkey."""

    template_name = "account/security/remove_passkey.html"
    action, target = "factor.remove", "passkey"


@method_decorator(never_cache, name="dispatch")
class SwitchCodesOn(_Noted, ActivateTOTPView):
    """Shows the key of one-time codes as a QR code, and switches them on with the first code."""

    template_name = "account/security/codes_on.html"
    action, target = "factor.add", "totp"

    def form_valid(self, form: Any) -> HttpResponse:
        """Switch codes on; the first one does not sign in again."""
        response = super().form_valid(form)
        queries.spend_first(self.request.user.pk or 0, form.cleaned_data["code"])
        return response


class SwitchCodesOff(_Noted, DeactivateTOTPView):
    """Switches one-time codes off."""

    template_name = "account/security/codes_off.html"
    action, target = "factor.remove", "totp"


class NewRecoveryCodes(_Noted, GenerateRecoveryCodesView):
    """Makes new recovery codes; the ones before end."""

    template_name = "account/security/new_recovery_codes.html"
    action, target = "recovery_codes.create", ""


@method_decorator(never_cache, name="dispatch")
class RecoveryCodes(ViewRecoveryCodesView):
    """Shows recovery codes once."""

    template_name = "account/security/recovery_codes.html"


class ConfirmPassword(_Confirmation, ConfirmPasswordView):
    """Confirms by password."""


class ConfirmCode(_Confirmation, ConfirmCodeView):
    """Confirms by a one-time or recovery code."""


class ConfirmPasskey(_Confirmation, ReauthenticateWebAuthnView):
    """Confirms by a passkey."""

    form_class = ConfirmPasskeyForm

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Return the form and the options for the browser."""
        context: dict[str, Any] = super().get_context_data(**kwargs)
        options = json.dumps(context["js_data"]["request_options"]["publicKey"])
        return kwargs | context | {"options": options}

"""Forms of second factors: django-allauth's, with used codes and malformed passkeys refused everywhere."""

from __future__ import annotations

from typing import Any

from allauth.mfa.adapter import get_adapter
from allauth.mfa.base.forms import AuthenticateForm, BaseAuthenticateForm, ReauthenticateForm
from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn.forms import (
    AddWebAuthnForm,
    AuthenticateWebAuthnForm,
    EditWebAuthnForm,
    LoginWebAuthnForm,
    ReauthenticateWebAuthnForm,
)
from allauth.mfa.webauthn.internal.auth import parse_registration_response
from django import forms

from dashboard.pages.account.sign_in_methods import queries

NAME_CHARS = 60
PARTS = {"clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"}


class _UsedOnce(BaseAuthenticateForm):
    def clean_code(self) -> str:
        """Return the code. Raises ValidationError if it is wrong or was used."""
        code: str = super().clean_code()
        authenticator = self.authenticator
        if authenticator.type == Authenticator.Type.TOTP and not queries.spend(authenticator.pk, code):
            raise get_adapter().validation_error("incorrect_code")
        return code


class CodeForm(_UsedOnce, AuthenticateForm):
    """A one-time or recovery code, as the second step of signing in."""


class ConfirmCodeForm(_UsedOnce, ReauthenticateForm):
    """A one-time or recovery code, to confirm who is signed in."""


class _Credential(forms.JSONField):
    """The answer of a browser for a passkey: an object, its `response` an object of texts."""

    widget = forms.HiddenInput

    def to_python(self, value: object) -> Any:
        found = super().to_python(value)
        response = found.get("response") if isinstance(found, dict) else None
        if not isinstance(response, dict) or not all(
            isinstance(response[part], str) for part in PARTS & response.keys()
        ):
            raise get_adapter().validation_error("incorrect_code")
        return found


class PasskeyForm(LoginWebAuthnForm):
    """A passkey instead of a password."""

    credential = _Credential()

    def clean_credential(self) -> Authenticator:
        """Return the passkey. Raises ValidationError if it is not one of its user."""
        if "userHandle" not in self.cleaned_data["credential"]["response"]:
            raise get_adapter().validation_error("incorrect_code")
        return super().clean_credential()


class SecondPasskeyForm(AuthenticateWebAuthnForm):
    """A passkey as the second step of signing in."""

    credential = _Credential()


class ConfirmPasskeyForm(ReauthenticateWebAuthnForm):
    """A passkey, to confirm who is signed in."""

    credential = _Credential()


class NewPasskeyForm(AddWebAuthnForm):
    """A new passkey and its name."""

    name = forms.CharField(required=False, max_length=NAME_CHARS)
    credential = _Credential()

    def clean_credential(self) -> object:
        """Return what the browser made. Raises ValidationError if it cannot be decoded."""
        credential: object = self.cleaned_data["credential"]
        try:
            parse_registration_response(credential)
        except ValueError:  # django-allauth expects TypeError only
            raise get_adapter().validation_error("incorrect_code") from None
        return credential


class PasskeyNameForm(EditWebAuthnForm):
    """Another name for a passkey."""

    name = forms.CharField(max_length=NAME_CHARS)

"""The result of a sign-in with the OpenID Connect provider: an account and roles by the claim, or a refusal.

Users are found by issuer and subject, never by name or e-mail address. The claim is read at each sign-in.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialLogin
from allauth.socialaccount.providers.base import AuthError
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest
from requests import RequestException

from dashboard.security.actor import unknown
from dashboard.security.single_sign_on.provider import ProviderError
from dashboard.security.single_sign_on.refusal import Reason, refuse
from recorder.access import role_claims
from recorder.operations import claim_memberships


class ClaimedAccounts(DefaultSocialAccountAdapter):
    """Makes the accounts of the provider's users and gives them the roles of their claims."""

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        """Return True: who has a role, or needs none, gets an account at the first sign-in."""
        return True

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Look at the claim again. Raises ImmediateHttpResponse with a page if it gives no role."""
        user = sociallogin.user if sociallogin.is_existing else None
        roles = _roles(sociallogin)
        if user is not None:
            _give(request, user, roles)
        if settings.LOOPSCOPE_OIDC_ROLES and not roles:
            name = user.get_username() if user else sociallogin.user.get_username()
            raise ImmediateHttpResponse(refuse(request, "oidc", "no_role", name))

    def save_user(self, request: HttpRequest, sociallogin: SocialLogin, form: Any = None) -> User:
        """Make the account of a first sign-in, with its roles; it is never a superuser."""
        with transaction.atomic():
            user: User = super().save_user(request, sociallogin, form)
            _give(request, user, _roles(sociallogin))
        return user

    def on_authentication_error(
        self,
        request: HttpRequest,
        provider: object,
        error: str | None = None,
        exception: Exception | None = None,
        extra_context: dict[str, Any] | None = None,
    ) -> None:
        """Raise ImmediateHttpResponse with a page that names the reason."""
        raise ImmediateHttpResponse(refuse(request, "oidc", reason_of(request, error, exception)))


def reason_of(request: HttpRequest, error: str | None, exception: Exception | None) -> Reason:
    """Return why an exchange failed."""
    match exception:
        case ProviderError(problem=problem):
            return problem
        case RequestException():
            return "provider"
        case None if error == AuthError.CANCELLED:
            return "cancelled"
        case None if "error" not in request.GET:
            return "state"
        case None:
            return "provider"
        case _:
            return "code"  # the token endpoint refused it


def _give(request: HttpRequest, user: User, roles: dict[str, str]) -> None:
    actor = replace(unknown(request, user.get_username()), kind="user")
    claim_memberships.replace(user, roles, actor)


def _roles(sociallogin: SocialLogin) -> dict[str, str]:
    groups = sociallogin.account.extra_data["groups"]
    return role_claims.granted(settings.LOOPSCOPE_OIDC_ROLES, groups, claim_memberships.slugs())

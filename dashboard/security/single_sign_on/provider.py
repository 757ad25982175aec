"""The exchange with the OpenID Connect provider. Nothing in an ID token counts before it is verified.

django-allauth keeps `state` and PKCE, exchanges the code and asks for UserInfo. Added here, because it does
not do so: the provider must be the configured issuer, the signature of the ID token is always checked against
the provider's keys, and the subject of UserInfo must be that of the ID token (OpenID Connect Core 3.1.3.7,
5.3.2; Discovery 4.3).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import jwt
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.models import SocialApp, SocialLogin, SocialToken
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

from recorder.access import role_claims
from recorder.core.content.text import clean

Problem = Literal["expired", "issuer", "audience", "token", "provider"]
# Asymmetric ones alone: with HS256 the client secret would sign.
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
LEEWAY_S = 60  # difference of the clocks
ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")
SUBJECT_CHARS = 191  # of the column; Core 2 allows 255 ASCII characters
NAMES = ("preferred_username", "name", "given_name", "family_name", "email")
NAME_CHARS = 150  # of Django's user names
Claims = Mapping[str, Any]


class ProviderError(OAuth2Error):
    """The answer of the provider cannot be used."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem: Problem = problem


class Client(OpenIDConnectOAuth2Adapter):
    """The client of the configured provider, in one request."""

    def __init__(self, request: HttpRequest, provider_id: str) -> None:
        super().__init__(request, provider_id)
        self._document: dict[str, Any] | None = None

    @property
    def openid_config(self) -> dict[str, Any]:
        """The provider's discovery document, read once a request. Raises ProviderError."""
        if self._document is None:
            self._document = self._discovered()
        return self._document

    def get_callback_url(self, request: HttpRequest, app: SocialApp) -> str:
        """Return the address that the provider redirects to; it must be registered there."""
        return request.build_absolute_uri(reverse("oidc-callback"))

    def complete_login(
        self, request: HttpRequest, app: SocialApp, token: SocialToken, **kwargs: Any
    ) -> SocialLogin:
        """Return who signs in, with the groups of the role claim. Raises ProviderError."""
        claims = self._verified(app, kwargs["response"].get("id_token"))
        profile = self._profile(claims, token)
        user = {**claims, **profile}
        texts = {name: clean(user[name], NAME_CHARS) for name in NAMES if isinstance(user.get(name), str)}
        login = self.get_provider().sociallogin_from_response(
            request, {"id_token": dict(claims), "userinfo": texts | {"sub": claims["sub"]}}
        )
        path = settings.LOOPSCOPE_OIDC_ROLE_CLAIM
        found = role_claims.groups_in(claims, path) or role_claims.groups_in(profile, path)
        groups = [group for group in found if group.isprintable()]  # PostgreSQL stores no NUL
        # Of all claims these alone are stored.
        login.account.extra_data = {"issuer": claims["iss"], "groups": sorted(groups)}
        login.email_addresses = []
        return login

    def _discovered(self) -> dict[str, Any]:
        with get_adapter().get_requests_session() as session:
            answer = session.get(self.get_provider().server_url)
            answer.raise_for_status()
            document = answer.json()
        if not isinstance(document, dict) or not all(isinstance(document.get(e), str) for e in ENDPOINTS):
            raise ProviderError("provider")
        issuer = document.get("issuer")
        if not isinstance(issuer, str) or issuer.rstrip("/") != settings.LOOPSCOPE_OIDC_ISSUER.rstrip("/"):
            raise ProviderError("issuer")
        return document

    def _verified(self, app: SocialApp, token: object) -> Claims:
        """Return the claims of an ID token. Raises ProviderError."""
        if not isinstance(token, str):
            raise ProviderError("token")
        try:
            claims = jwt.decode(
                token,
                self._key(token),
                algorithms=ALGORITHMS,
                audience=app.client_id,
                issuer=self.openid_config["issuer"],
                leeway=LEEWAY_S,
                options={"require": ["exp", "iat", "iss", "aud", "sub"]},
            )
        except jwt.PyJWTError as error:
            raise ProviderError(_problem(error)) from error
        if claims.get("azp", app.client_id) != app.client_id:
            raise ProviderError("audience")
        if not 0 < len(claims["sub"]) <= SUBJECT_CHARS or not claims["sub"].isprintable():
            raise ProviderError("token")
        return claims

    def _key(self, token: str) -> jwt.PyJWK:
        """Return the provider's key that a token names, or its only one. Raises PyJWTError."""
        with get_adapter().get_requests_session() as session:
            answer = session.get(self.openid_config["jwks_uri"])
            answer.raise_for_status()
            document = answer.json()
        if not isinstance(document, dict):
            raise jwt.PyJWKSetError("no key set")
        keys = [key for key in jwt.PyJWKSet.from_dict(document).keys if key.public_key_use in (None, "sig")]
        name = jwt.get_unverified_header(token).get("kid")
        named = [key for key in keys if key.key_id == name] if name else keys
        if len(named) != 1:
            raise jwt.InvalidKeyError("no such key")
        return named[0]

    def _profile(self, claims: Claims, token: SocialToken) -> Claims:
        if not isinstance(self.openid_config.get("userinfo_endpoint"), str):
            return {}
        profile = self._fetch_user_info(token.token)
        if not isinstance(profile, dict) or profile.get("sub") != claims["sub"]:
            raise ProviderError("token")
        return profile


def provider_for(request: HttpRequest) -> OpenIDConnectProvider:
    """Return django-allauth's provider, as it is configured, with the client of this module."""
    provider = get_adapter().get_provider(request, settings.LOOPSCOPE_OIDC_PROVIDER)
    provider.oauth2_adapter_class = Client
    return provider


def _problem(error: jwt.PyJWTError) -> Problem:
    match error:
        case jwt.ExpiredSignatureError():
            return "expired"
        case jwt.InvalidIssuerError():
            return "issuer"
        case jwt.InvalidAudienceError():
            return "audience"
        case _:
            return "token"

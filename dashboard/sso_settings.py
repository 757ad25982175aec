"""Settings of the extra `sso`: django-allauth and OpenID Connect. Without the extra nothing of it is on.

dashboard/settings.py takes over every name in capitals. A variable that cannot be used stops the start with
one line that names it. Choices that differ from django-allauth's defaults: docs/adr/0037-single-sign-on.md.
"""

from __future__ import annotations

import os
from hashlib import sha256
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from recorder.access import role_claims

_PACKAGES = ("allauth", "fido2", "jwt", "qrcode", "requests")
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def _issuer() -> str:
    name = "LOOPSCOPE_OIDC_ISSUER"
    issuer = os.environ.get(name, "")
    if not issuer:
        return ""
    if not LOOPSCOPE_SSO:
        raise SystemExit(f"{name} needs the extra sso: pip install 'loopscope[sso]'")
    if not _is_safe(issuer):
        raise SystemExit(f"{name} must be an https:// address without a query")
    return issuer


def _is_safe(address: str) -> bool:
    """Whether an address is one of HTTPS, or of this machine, without a query."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    is_secret = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
    return is_secret and bool(parts.hostname) and not parts.query and not parts.fragment


def _required(name: str) -> str:
    """Return a variable that must be set with an issuer, and only then."""
    value = os.environ.get(name, "")
    if LOOPSCOPE_OIDC_ISSUER and not value:
        raise SystemExit(f"{name} must be set, because LOOPSCOPE_OIDC_ISSUER is")
    if value and not LOOPSCOPE_OIDC_ISSUER:
        raise SystemExit(f"{name} has no meaning without LOOPSCOPE_OIDC_ISSUER")
    return value


def _rules(claim: str) -> tuple[role_claims.Rule, ...]:
    name = "LOOPSCOPE_OIDC_ROLES"
    try:
        rules = role_claims.parse_rules(os.environ.get(name, ""))
    except ValueError as error:
        wrong = repr(str(error))
        raise SystemExit(f"{name} has {wrong}, which is not group:role or group:project:role") from None
    if claim and not rules:
        raise SystemExit(f"{name} must be set, because LOOPSCOPE_OIDC_ROLE_CLAIM is")
    if not claim and any(rule.group != role_claims.DEFAULT for rule in rules):
        raise SystemExit(f"LOOPSCOPE_OIDC_ROLE_CLAIM must be set, because {name} names groups")
    return rules


LOOPSCOPE_SSO = all(find_spec(name) for name in _PACKAGES)

LOOPSCOPE_OIDC_ISSUER = _issuer()
LOOPSCOPE_OIDC_CLIENT_ID = _required("LOOPSCOPE_OIDC_CLIENT_ID")
_CLIENT_SECRET = _required("LOOPSCOPE_OIDC_CLIENT_SECRET")
LOOPSCOPE_OIDC_NAME = os.environ.get("LOOPSCOPE_OIDC_NAME") or "single sign-on"
LOOPSCOPE_OIDC_ROLE_CLAIM = os.environ.get("LOOPSCOPE_OIDC_ROLE_CLAIM", "")
LOOPSCOPE_OIDC_ROLES = _rules(LOOPSCOPE_OIDC_ROLE_CLAIM)
# Users are stored with this name: the subjects of another issuer are other people.
LOOPSCOPE_OIDC_PROVIDER = f"oidc-{sha256(LOOPSCOPE_OIDC_ISSUER.rstrip('/').encode()).hexdigest()[:32]}"

SSO_APPS = ["allauth", "allauth.account", "allauth.socialaccount", "allauth.mfa"] if LOOPSCOPE_SSO else []
if LOOPSCOPE_OIDC_ISSUER:  # the provider imports an HTTP client, 5 MB of memory
    SSO_APPS.append("allauth.socialaccount.providers.openid_connect")
SSO_MIDDLEWARE = ["allauth.account.middleware.AccountMiddleware"] if LOOPSCOPE_SSO else []

LOGIN_REDIRECT_URL = "/"
ACCOUNT_ADAPTER = "dashboard.security.single_sign_on.accounts.Accounts"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "password1*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_UNIQUE_EMAIL = False
# dashboard/pages/account/throttle.py counts passwords, codes and passkeys alike.
ACCOUNT_RATE_LIMITS = MFA_RATE_LIMITS = False

SOCIALACCOUNT_ADAPTER = "dashboard.security.single_sign_on.claims.ClaimedAccounts"
SOCIALACCOUNT_REQUESTS_TIMEOUT = 5  # seconds
SOCIALACCOUNT_PROVIDERS: dict[str, Any] = {}
if LOOPSCOPE_OIDC_ISSUER:
    SOCIALACCOUNT_PROVIDERS["openid_connect"] = {
        "OAUTH_PKCE_ENABLED": True,
        "APPS": [
            {
                "provider_id": LOOPSCOPE_OIDC_PROVIDER,
                "name": LOOPSCOPE_OIDC_NAME,
                "client_id": LOOPSCOPE_OIDC_CLIENT_ID,
                "secret": _CLIENT_SECRET,
                "settings": {
                    "server_url": f"{LOOPSCOPE_OIDC_ISSUER.rstrip('/')}/.well-known/openid-configuration"
                },
            }
        ],
    }

MFA_ADAPTER = "dashboard.security.single_sign_on.factors.Factors"
MFA_SUPPORTED_TYPES = ["recovery_codes", "totp", "webauthn"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_RECOVERY_CODES_SHOW_ONCE = True
MFA_TOTP_ISSUER = "Loopscope"
MFA_TOTP_TOLERANCE = 1  # step of 30 s before and after
MFA_FORMS = {
    "authenticate": "dashboard.pages.account.sign_in_methods.forms.CodeForm",
    "reauthenticate": "dashboard.pages.account.sign_in_methods.forms.ConfirmCodeForm",
}

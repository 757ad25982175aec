"""URLs of sign-in methods, under the root. Names with mfa_ or account_ are looked up by django-allauth.

Of its routes no others exist: sign-up, e-mail addresses, password reset and connected accounts are 404.
"""

from django.conf import settings
from django.urls import path
from django.views.decorators.http import require_http_methods, require_safe

from dashboard.pages.account.sign_in_methods import oidc, security_page, steps

SECURITY = "account/security"
form = require_http_methods(["GET", "HEAD", "POST"])

urlpatterns = [
    path("signin/code", form(steps.SecondFactor.as_view()), name="mfa_authenticate"),
    path("signin/passkey", steps.passkey, name="signin-passkey"),
    path(SECURITY, security_page.index, name="mfa_index"),
    path(SECURITY, security_page.index, name="mfa_list_webauthn"),
    path(f"{SECURITY}/passkeys/add", form(security_page.AddPasskey.as_view()), name="mfa_add_webauthn"),
    path(
        f"{SECURITY}/passkeys/<int:pk>/name", form(security_page.RenamePasskey.as_view()), name="passkey-name"
    ),
    path(
        f"{SECURITY}/passkeys/<int:pk>/remove",
        form(security_page.RemovePasskey.as_view()),
        name="passkey-end",
    ),
    path(f"{SECURITY}/codes/on", form(security_page.SwitchCodesOn.as_view()), name="mfa_activate_totp"),
    path(f"{SECURITY}/codes/off", form(security_page.SwitchCodesOff.as_view()), name="mfa_deactivate_totp"),
    path(
        f"{SECURITY}/recovery",
        require_safe(security_page.RecoveryCodes.as_view()),
        name="mfa_view_recovery_codes",
    ),
    path(
        f"{SECURITY}/recovery/new", form(security_page.NewRecoveryCodes.as_view()), name="recovery-codes-new"
    ),
    path(f"{SECURITY}/confirm", form(security_page.ConfirmPassword.as_view()), name="account_reauthenticate"),
    path(f"{SECURITY}/confirm/code", form(security_page.ConfirmCode.as_view()), name="mfa_reauthenticate"),
    path(
        f"{SECURITY}/confirm/passkey",
        form(security_page.ConfirmPasskey.as_view()),
        name="mfa_reauthenticate_webauthn",
    ),
]

OIDC = [
    path("signin/oidc", oidc.start, name="oidc"),
    path("signin/oidc/callback", oidc.callback, name="oidc-callback"),
]
if settings.LOOPSCOPE_OIDC_ISSUER:
    urlpatterns += OIDC

"""The steps of signing in: after the password, a passkey instead of it, and the second factor."""

from __future__ import annotations

import ipaddress
import json
from typing import Any
from urllib.parse import urlencode

from allauth.account.internal.flows.login import perform_password_login
from allauth.account.models import Login
from allauth.mfa.base.views import AuthenticateView
from allauth.mfa.models import Authenticator
from allauth.mfa.utils import is_mfa_enabled
from allauth.mfa.webauthn.internal.auth import begin_authentication
from allauth.mfa.webauthn.internal.flows import perform_passwordless_login
from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.request import split_domain_port
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from dashboard.pages.account import throttle
from dashboard.pages.account.sign_in_methods.forms import PasskeyForm, SecondPasskeyForm
from dashboard.security.access import next_place
from dashboard.security.actor import unknown
from dashboard.security.single_sign_on.refusal import refuse
from recorder.operations import audit

CODES = [Authenticator.Type.TOTP, Authenticator.Type.RECOVERY_CODES]


def offered(request: HttpRequest) -> dict[str, object]:
    """Return what the sign-in page offers beside the password."""
    shown: dict[str, object] = {"passkeys": can_use_passkeys(request)}
    if settings.LOOPSCOPE_OIDC_ISSUER:
        after = urlencode({"next": request.POST.get("next", request.GET.get("next", ""))})
        shown |= {"oidc_name": settings.LOOPSCOPE_OIDC_NAME, "oidc_url": f"{reverse('oidc')}?{after}"}
    return shown


def can_use_passkeys(request: HttpRequest) -> bool:
    """Whether browsers make passkeys for this address: a name, not an IP address, and HTTPS or localhost."""
    host = split_domain_port(request.get_host())[0]
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return request.is_secure() or host == "localhost" or host.endswith(".localhost")
    return False


def after_password(request: HttpRequest, user: User, after: str) -> HttpResponse:
    """Sign in a user whose password was right, or ask for the second factor that the user has set."""
    login = Login(user=user, redirect_url=after)
    response: HttpResponse = perform_password_login(request, {"username": user.get_username()}, login)
    return response


@never_cache
@require_http_methods(["GET", "POST"])
def passkey(request: HttpRequest) -> HttpResponse:
    """Return the challenge for a passkey; check the answer and sign in. A passkey needs no second factor."""
    if request.method == "GET":
        return JsonResponse(begin_authentication(None)["publicKey"])
    if not throttle.address_left(request):
        return refuse(request, "passkey", "too_many")
    form = PasskeyForm(data=request.POST)
    if not form.is_valid():
        return refuse(request, "passkey", "passkey")
    authenticator = form.cleaned_data["credential"]
    login = Login(user=authenticator.user, redirect_url=next_place(request, request.POST.get("next", "")))
    response: HttpResponse = perform_passwordless_login(request, authenticator, login)
    return response


class SecondFactor(AuthenticateView):
    """Asks for a one-time code, a recovery code or a passkey, after the step before it was right."""

    template_name = "account/second_factor.html"
    webauthn_form_class = SecondPasskeyForm

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Check what was entered."""
        if not throttle.code_left(self.stage.login.user.pk):
            return refuse(request, self._target(), "too_many", self.stage.login.user.get_username())
        response: HttpResponse = super().post(request, *args, **kwargs)
        return response

    def form_valid(self, form: object) -> HttpResponse:
        """Sign in."""
        throttle.code_was_right(self.stage.login.user.pk)
        response: HttpResponse = super().form_valid(form)
        return response

    def form_invalid(self, form: object) -> HttpResponse:
        """Show the form again, and note the refusal."""
        actor = unknown(self.request, self.stage.login.user.get_username())
        audit.record(None, actor, "signin.refused", self._target())
        response: HttpResponse = super().form_invalid(form)
        response.status_code = 403
        return response

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Return the forms that the user can fill in."""
        context: dict[str, Any] = super().get_context_data(**kwargs)
        user = self.stage.login.user
        has_passkey = is_mfa_enabled(user, [Authenticator.Type.WEBAUTHN])
        return context | {
            "has_codes": is_mfa_enabled(user, CODES),
            "has_passkey": has_passkey and can_use_passkeys(self.request),
            "options": json.dumps(context["js_data"]["request_options"]["publicKey"]),
        }

    def _target(self) -> str:
        return "code" if "code" in self.request.POST else "passkey"

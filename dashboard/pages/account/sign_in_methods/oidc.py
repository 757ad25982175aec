"""Signing in with the OpenID Connect provider: there, and back.

The start is a link, because the content security policy lets no form lead to another host. It always signs
in: django-allauth's own view would also connect accounts and add scopes, as its query string says.
"""

from __future__ import annotations

from collections.abc import Callable

from allauth.socialaccount.providers.base.constants import AuthProcess
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET
from requests import RequestException

from dashboard.pages.account import throttle
from dashboard.security.access import next_place
from dashboard.security.single_sign_on.claims import reason_of
from dashboard.security.single_sign_on.provider import provider_for
from dashboard.security.single_sign_on.refusal import refuse


@never_cache
@require_GET
def start(request: HttpRequest) -> HttpResponse:
    """Redirect to the provider."""
    if not throttle.address_left(request):
        return refuse(request, "oidc", "too_many")
    provider = provider_for(request)
    after = next_place(request, request.GET.get("next", ""))
    return _or_refused(request, lambda: provider.redirect(request, AuthProcess.LOGIN, next_url=after))


@never_cache
@require_GET
def callback(request: HttpRequest) -> HttpResponse:
    """Take the provider's answer: sign in, or say why not."""
    view = OAuth2CallbackView.adapter_view(provider_for(request).get_oauth2_adapter(request))
    return _or_refused(request, lambda: view(request))


def _or_refused(request: HttpRequest, exchange: Callable[[], HttpResponse]) -> HttpResponse:
    try:
        return exchange()
    except (OAuth2Error, RequestException) as error:
        return refuse(request, "oidc", reason_of(request, None, error))

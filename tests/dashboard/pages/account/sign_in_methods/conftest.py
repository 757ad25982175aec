"""An OpenID Connect provider that runs, and the settings of a server that uses it."""

import urllib.error
import urllib.request
from urllib.parse import urlsplit

import pytest
from allauth.socialaccount.providers import registry
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from django.contrib.auth.models import User

from dashboard.pages.account import throttle
from recorder.access.role_claims import parse_rules
from recorder.models import Project
from tests.dashboard.pages.account.sign_in_methods import oidc_urls
from tests.dashboard.pages.account.sign_in_methods.openid_provider import CLIENT, SECRET, OpenIDProvider

PASSWORD = "correct horse battery"


@pytest.fixture(autouse=True)
def fresh_counts():
    throttle.attempts.clear()
    throttle.codes.clear()


@pytest.fixture
def ada(db):
    return User.objects.create_user("ada", password=PASSWORD)


@pytest.fixture
def provider():
    provider = OpenIDProvider()
    yield provider
    provider.stop()


@pytest.fixture
def configure(settings, provider, monkeypatch, db):
    """Return a function that sets the rules of roles; two projects exist."""
    # Its app is installed when the settings name an issuer, which they do only now.
    monkeypatch.setitem(registry.provider_map, OpenIDConnectProvider.id, OpenIDConnectProvider)
    Project.objects.create(slug="acme")
    Project.objects.create(slug="beta")

    def configure(roles="", claim="groups"):
        settings.ROOT_URLCONF = oidc_urls.__name__
        settings.LOOPSCOPE_OIDC_ISSUER = provider.issuer
        settings.LOOPSCOPE_OIDC_NAME = "Acme ID"
        settings.LOOPSCOPE_OIDC_PROVIDER = "oidc-test"
        settings.LOOPSCOPE_OIDC_ROLE_CLAIM = claim if roles else ""
        settings.LOOPSCOPE_OIDC_ROLES = parse_rules(roles)
        app = {"provider_id": "oidc-test", "name": "Acme ID", "client_id": CLIENT, "secret": SECRET}
        app["settings"] = {"server_url": f"{provider.issuer}/.well-known/openid-configuration"}
        settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"OAUTH_PKCE_ENABLED": True, "APPS": [app]}}

    return configure


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


@pytest.fixture
def at_provider():
    """Return a function that goes to the provider and returns the path that it redirects back to."""
    opener = urllib.request.build_opener(_NoRedirect)

    def at_provider(address):
        with pytest.raises(urllib.error.HTTPError) as redirect:
            opener.open(address)
        redirect.value.close()
        back = urlsplit(redirect.value.headers["Location"])
        return f"{back.path}?{back.query}"

    return at_provider


@pytest.fixture
def sign_in(client, at_provider):
    """Return a function that signs in with the provider and returns the last answer."""

    def sign_in(client=client, after=""):
        begun = client.get("/signin/oidc", {"next": after})
        return client.get(at_provider(begun["Location"])) if begun.status_code == 302 else begun

    return sign_in

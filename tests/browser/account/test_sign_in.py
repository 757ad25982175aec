"""Signing in with a passkey of a virtual authenticator, with a code, and with an OpenID Connect provider."""

import re

import pytest
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value, yield_hotp_counters_from_time

from tests.browser.axe import serious
from tests.browser.conftest import WATCH
from tests.dashboard.pages.account.sign_in_methods.openid_provider import CLIENT, SECRET, OpenIDProvider
from tests.support.server import Server

AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


@pytest.fixture(scope="module")
def provider():
    provider = OpenIDProvider()
    provider.claims["groups"] = ["agents"]
    yield provider
    provider.stop()


@pytest.fixture(scope="module")
def server(tmp_path_factory, provider):
    server = Server(
        tmp_path_factory.mktemp("server"),
        LOOPSCOPE_OIDC_ISSUER=provider.issuer,
        LOOPSCOPE_OIDC_CLIENT_ID=CLIENT,
        LOOPSCOPE_OIDC_CLIENT_SECRET=SECRET,
        LOOPSCOPE_OIDC_NAME="Acme ID",
        LOOPSCOPE_OIDC_ROLE_CLAIM="groups",
        LOOPSCOPE_OIDC_ROLES="agents:member",
    )
    server.start()
    yield server
    server.stop()


@pytest.fixture
def home(server):
    """The address by name: browsers make no passkeys for an IP address."""
    return server.url.replace("127.0.0.1", "localhost")


@pytest.fixture
def page(browser):
    """A window whose page must cause no error and no violation of the content security policy."""
    context = browser.new_context()
    context.add_init_script(WATCH)
    page = context.new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    assert page.evaluate("window.violations") == []
    assert errors == []
    context.close()


@pytest.fixture
def in_project():
    return re.compile("/p/default/")


def sign_in_by_link(page, server, home):
    page.goto(home + server.way_in())
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(re.compile("/p/"))


def plug_in_authenticator(page):
    """Give the window an authenticator that answers at once; return its session and id."""
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    added = session.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})
    return session, added["authenticatorId"]


def test_a_passkey_is_added_signs_in_and_is_removed(page, server, home, in_project):
    session, authenticator = plug_in_authenticator(page)
    sign_in_by_link(page, server, home)
    page.goto(f"{home}/account/security")
    page.get_by_role("link", name="Add a passkey").click()
    page.get_by_label("Name").fill("Laptop")
    page.get_by_role("button", name="Add").click()
    page.get_by_text("They are shown once").wait_for()
    assert page.locator(".security-codes span").count() == 10
    page.get_by_role("link", name="Done").click()
    page.get_by_role("cell", name="Laptop", exact=True).wait_for()
    assert serious(page) == []
    assert (
        len(session.send("WebAuthn.getCredentials", {"authenticatorId": authenticator})["credentials"]) == 1
    )

    page.context.clear_cookies()
    page.goto(f"{home}/signin?next=/account/security")
    page.get_by_role("button", name="Use a passkey").click()
    page.get_by_role("cell", name="Laptop", exact=True).wait_for()

    page.get_by_role("link", name="Rename Laptop").click()
    page.get_by_role("heading", name="Confirm that it is you").wait_for()
    assert serious(page) == []
    page.get_by_role("button", name="Confirm").click()
    page.get_by_label("Name").fill("Phone")
    page.get_by_role("button", name="Rename").click()
    page.get_by_role("link", name="Remove Phone").click()
    page.get_by_role("button", name="Remove").click()
    page.get_by_text("No passkey yet.").wait_for()

    page.context.clear_cookies()
    page.goto(f"{home}/signin")
    page.get_by_role("button", name="Use a passkey").click()
    page.get_by_text("This passkey is not known here").wait_for()
    assert serious(page) == []


def test_a_new_person_joins_with_a_passkey_instead_of_a_password(page, server, home, in_project):
    sign_in_by_link(page, server, home)
    page.goto(f"{home}/p/default/settings/members")
    page.locator(".invite-form select").select_option("viewer")
    page.get_by_role("button", name="Make an invite link").click()
    link = page.get_by_text(re.compile(r"/join/[\w-]{43}")).first.inner_text().strip()
    page.context.clear_cookies()

    session, authenticator = plug_in_authenticator(page)
    page.goto(home + re.search(r"/join/[\w-]{43}", link)[0])
    page.get_by_label("User name").fill("grace")
    page.get_by_role("button", name="Use a passkey instead of a password").click()
    verified = {"authenticatorId": authenticator, "isUserVerified": False}
    session.send("WebAuthn.setUserVerified", verified)
    page.get_by_role("button", name="Create a passkey and join").click()
    page.get_by_text("No passkey was used.").wait_for()
    assert serious(page) == []
    session.send("WebAuthn.setUserVerified", verified | {"isUserVerified": True})
    page.get_by_role("button", name="Create a passkey and join").click()
    page.wait_for_url(in_project)

    page.context.clear_cookies()
    page.goto(f"{home}/signin")
    page.get_by_role("button", name="Use a passkey").click()
    page.wait_for_url(in_project)
    page.goto(f"{home}/account/security")
    page.get_by_text("grace").first.wait_for()


def test_a_browser_without_an_authenticator_says_so_on_the_page(page, home):
    session, authenticator = plug_in_authenticator(page)
    page.goto(f"{home}/signin")
    session.send("WebAuthn.setUserVerified", {"authenticatorId": authenticator, "isUserVerified": False})
    page.get_by_role("button", name="Use a passkey").click()
    page.get_by_text("No passkey was used.").wait_for()


def test_the_provider_signs_in_and_a_code_is_required_once_it_is_set(page, server, home, in_project):
    page.goto(f"{home}/signin")
    page.get_by_role("link", name="Sign in with Acme ID").click()
    page.wait_for_url(in_project)

    page.goto(f"{home}/account/security")
    page.get_by_role("link", name="Set up").click()
    page.get_by_role("img", name="QR code with the key").wait_for()
    assert serious(page) == []
    assert page.locator(".security-picture").evaluate("(image) => image.naturalWidth") > 0
    key = page.locator("code").inner_text()
    steps = list(yield_hotp_counters_from_time())
    page.get_by_label("Code").fill(format_hotp_value(hotp_value(key, steps[0])))
    page.get_by_role("button", name="Switch on").click()
    page.get_by_text("They are shown once").wait_for()

    page.context.clear_cookies()
    page.goto(f"{home}/signin?next=/account/security")
    page.get_by_role("link", name="Sign in with Acme ID").click()
    page.get_by_role("heading", name="Second step").wait_for()
    assert serious(page) == []
    page.get_by_label("Code of your authenticator app").fill(format_hotp_value(hotp_value(key, steps[-1])))
    page.get_by_role("button", name="Sign in").click()
    page.get_by_text("On, since").wait_for()

"""The page of sign-in methods: who may change them, passkeys that are none, and routes that do not exist."""

import json

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value, yield_hotp_counters_from_time
from django.contrib.auth.models import User

from recorder.access import signin_links
from recorder.models import AuditEntry
from tests.dashboard.pages.account.sign_in_methods.conftest import PASSWORD

PAGE = "/account/security"
CHANGES = ["passkeys/add", "codes/on", "recovery/new"]
NOT_INCLUDED = [
    *("signup", "login", "logout", "email", "confirm-email", "inactive", "password/reset", "password/change"),
    *(
        "password/set",
        "social/connections",
        "social/signup",
        "3rdparty",
        "2fa",
        "2fa/authenticate",
        "reauthenticate",
    ),
    *("oidc/oidc-test/login", "openid_connect/login", "reauthenticate"),
]
RESPONSE = {"userHandle": "MQ", "clientDataJSON": "e30", "authenticatorData": "YQ", "signature": "YQ"}
PASSKEY = {"id": "YQ", "rawId": "YQ", "type": "public-key", "response": RESPONSE}


@pytest.fixture
def browser(client, ada):
    client.post("/signin", {"username": "ada", "password": PASSWORD})
    return client


def passkey_of(user):
    """Store a passkey as django-allauth does; nothing can sign in with it."""
    data = {"name": "Laptop", "credential": {}}
    return Authenticator.objects.create(user=user, type="webauthn", data=data)


def test_it_shows_the_methods_of_the_user_in_two_queries(browser, ada, django_assert_max_num_queries):
    for _ in range(20):
        passkey_of(ada)
    with django_assert_max_num_queries(8):
        html = browser.get(PAGE).content.decode()
    assert html.count(">Laptop<") == 20
    assert "Password: set" in html


def test_visitors_sign_in_first(client, db):
    assert client.get(PAGE)["Location"] == f"/signin?next={PAGE}"


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_needs_a_confirmation(browser, change):
    answer = browser.get(f"{PAGE}/{change}")
    assert answer["Location"].startswith(f"{PAGE}/confirm?")
    assert browser.post(f"{PAGE}/confirm", {"password": "wrong"}).status_code == 403
    assert AuditEntry.objects.filter(action="signin.refused", target="confirmation").count() == 1
    on = browser.post(answer["Location"], {"password": PASSWORD, "next": f"{PAGE}/{change}"})
    assert on["Location"] == f"{PAGE}/{change}"
    assert browser.get(f"{PAGE}/{change}").status_code == 200


def test_confirmations_are_limited(browser):
    answers = [browser.post(f"{PAGE}/confirm", {"password": "wrong"}).status_code for _ in range(6)]
    assert answers == [403] * 5 + [429]


def test_a_user_of_a_link_without_a_password_needs_no_confirmation(client, db):
    user = User.objects.create_user("bob")
    client.post(f"/signin/{signin_links.issue(user)}")
    page = client.get(f"{PAGE}/codes/on")
    code = format_hotp_value(hotp_value(page.context["form"].secret, next(yield_hotp_counters_from_time())))
    shown = client.post(f"{PAGE}/codes/on", {"code": code}, follow=True)
    assert "They are shown once" in shown.content.decode()


def test_a_passkey_of_another_user_is_404(browser):
    theirs = passkey_of(User.objects.create_user("bob"))
    browser.post(f"{PAGE}/confirm", {"password": PASSWORD})
    for change in ("name", "remove"):
        assert browser.get(f"{PAGE}/passkeys/{theirs.pk}/{change}").status_code == 404
        assert browser.post(f"{PAGE}/passkeys/{theirs.pk}/{change}", {"name": "x"}).status_code == 404


def test_a_passkey_is_renamed_and_removed(browser, ada):
    passkey = passkey_of(ada)
    browser.post(f"{PAGE}/confirm", {"password": PASSWORD})
    browser.post(f"{PAGE}/passkeys/{passkey.pk}/name", {"name": "<b>Phone"})
    assert "&lt;b&gt;Phone" in browser.get(PAGE).content.decode()
    assert browser.post(f"{PAGE}/passkeys/{passkey.pk}/name", {"name": "x" * 61}).status_code == 200
    browser.post(f"{PAGE}/passkeys/{passkey.pk}/remove")
    assert not Authenticator.objects.exists()
    noted = AuditEntry.objects.filter(action__startswith="factor.").values_list("action", "target")
    assert list(noted) == [("factor.rename", "passkey"), ("factor.remove", "passkey")]


@pytest.mark.parametrize(
    "credential",
    [
        *("", "x", "[]", "{}", "1", "null", '{"response": []}', '{"response": {"userHandle": null}}'),
        json.dumps(PASSKEY | {"response": {"userHandle": "MQ"}}),
        json.dumps(PASSKEY | {"id": 1, "rawId": [], "type": 1}),
        json.dumps(PASSKEY),
        json.dumps(PASSKEY | {"response": RESPONSE | {"userHandle": "%"}}),
        json.dumps(PASSKEY | {"response": RESPONSE | {"clientDataJSON": 7}}),
    ],
)
def test_what_is_no_passkey_signs_nobody_in(client, ada, credential):
    assert client.get("/signin/passkey").json()["challenge"]
    assert client.post("/signin/passkey", {"credential": credential}).status_code == 403
    assert "_auth_user_id" not in client.session
    refused = AuditEntry.objects.get()
    assert (refused.action, refused.target) == ("signin.refused", "passkey")


def test_passkeys_are_limited_by_address(client, db):
    answers = [client.post("/signin/passkey").status_code for _ in range(41)]
    assert answers == [403] * 40 + [429]


@pytest.mark.parametrize("path", NOT_INCLUDED)
@pytest.mark.parametrize("prefix", ["/", "/accounts/", "/account/"])
def test_other_routes_of_django_allauth_are_not_there(browser, prefix, path):
    for end in ("", "/"):
        assert browser.get(f"{prefix}{path}{end}").status_code == 404


def test_passkeys_are_offered_where_browsers_have_them(client, db, settings):
    settings.ALLOWED_HOSTS = ["*"]
    button = "Use a passkey"
    for host, secure, is_offered in [
        *[("localhost:8000", False, True), ("loopscope.example", True, True)],
        *[("loopscope.example", False, False), ("127.0.0.1:8000", True, False), ("[::1]:8000", True, False)],
    ]:
        page = client.get("/signin", headers={"host": host}, secure=secure).content.decode()
        assert (button in page) == is_offered, host

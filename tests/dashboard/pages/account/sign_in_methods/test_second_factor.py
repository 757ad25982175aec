"""One-time codes and recovery codes: set up, asked for after the password, and each used once."""

import re
from types import SimpleNamespace

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal import auth as totp
from allauth.mfa.utils import decrypt
from django.test import Client

from dashboard.pages.account import throttle
from recorder.access import signin_links
from recorder.models import AuditEntry
from tests.dashboard.pages.account.sign_in_methods.conftest import PASSWORD

STEP_S = 30
CODE = re.compile(r"<code>([A-Z2-7]{32})</code>")
RECOVERY = re.compile(r"<span>(\d{8}) ?</span>")


@pytest.fixture
def clock(monkeypatch):
    """The clock of one-time codes, which a test sets forward."""
    now = [1_800_000_000.0]
    monkeypatch.setattr(totp, "time", SimpleNamespace(time=lambda: now[0]))
    return now


def signed_in(client):
    return "_auth_user_id" in client.session


def code_of(secret, clock):
    return totp.format_hotp_value(totp.hotp_value(secret, int(clock[0]) // STEP_S))


def password_step(client, after=""):
    return client.post("/signin", {"username": "ada", "password": PASSWORD, "next": after})


def enter(client, code):
    return client.post("/signin/code", {"code": code})


def confirm(client):
    return client.post("/account/security/confirm", {"password": PASSWORD})


def noted(action):
    return list(AuditEntry.objects.filter(action=action).values_list("target", flat=True))


@pytest.fixture
def codes(client, ada, clock):
    """Switch one-time codes on; return the key and the recovery codes."""
    browser = Client()
    password_step(browser)
    confirm(browser)
    page = browser.get("/account/security/codes/on").content.decode()
    assert 'src="data:image/svg+xml;base64,' in page
    key = CODE.search(page)[1]
    done = browser.post("/account/security/codes/on", {"code": code_of(key, clock)})
    assert done["Location"] == "/account/security/recovery"
    assert noted("factor.add") == ["totp"]
    recovery = RECOVERY.findall(browser.get(done["Location"]).content.decode())
    assert len(set(recovery)) == 10
    assert RECOVERY.findall(browser.get(done["Location"]).content.decode()) == []
    clock[0] += STEP_S
    return key, recovery


def test_the_right_code_signs_in_and_goes_on_to_the_place(client, codes, clock):
    first = password_step(client, "/p/acme/costs")
    assert (first.status_code, first["Location"]) == (302, "/signin/code")
    assert not signed_in(client)
    assert client.get("/").status_code == 302

    second = enter(client, code_of(codes[0], clock))
    assert (second.status_code, second["Location"]) == (302, "/p/acme/costs")
    assert signed_in(client)
    assert noted("signin") == ["password", "password+totp"]


def test_a_wrong_code_is_refused_and_noted(client, codes):
    password_step(client)
    answer = enter(client, "000000")
    assert answer.status_code == 403
    assert "is wrong, or was used before" in answer.content.decode()
    assert not signed_in(client)
    assert noted("signin.refused") == ["code"]


def test_a_code_works_once_and_none_before_it(client, codes, clock):
    code, before = code_of(codes[0], clock), code_of(codes[0], [clock[0] - STEP_S])
    password_step(Client())
    other = Client()
    password_step(other)
    assert enter(other, code).status_code == 302
    password_step(client)
    assert enter(client, code).status_code == 403
    assert enter(client, before).status_code == 403
    assert not signed_in(client)


def test_the_code_that_switched_codes_on_does_not_sign_in(client, codes, clock):
    password_step(client)
    assert enter(client, code_of(codes[0], [clock[0] - STEP_S])).status_code == 403


def test_a_code_of_a_used_step_is_refused_by_another_process_too(client, codes, clock, monkeypatch):
    code = code_of(codes[0], clock)
    other = Client()
    password_step(other)
    enter(other, code)
    monkeypatch.setattr(totp.cache, "add", lambda *_, **__: True)  # the cache of another process is empty
    password_step(client)
    assert enter(client, code).status_code == 403


def test_a_code_may_be_one_step_late_and_not_three(client, codes, clock):
    code = code_of(codes[0], clock)
    clock[0] += STEP_S
    password_step(client)
    assert enter(client, code).status_code == 302
    late = code_of(codes[0], clock)
    clock[0] += 3 * STEP_S
    other = Client()
    password_step(other)
    assert enter(other, late).status_code == 403


def test_a_recovery_code_signs_in_once(client, codes):
    password_step(client)
    assert enter(client, codes[1][3]).status_code == 302
    other = Client()
    password_step(other)
    assert enter(other, codes[1][3]).status_code == 403
    assert "password+recovery_codes" in noted("signin")


def test_codes_are_limited_by_account_whatever_the_address(codes, clock):
    answers = []
    for n in range(throttle.CODES + 1):
        browser = Client(REMOTE_ADDR=f"10.0.0.{n}")
        password_step(browser)
        answers.append(enter(browser, "000000").status_code)
    assert answers == [403] * throttle.CODES + [429]
    assert enter(browser, code_of(codes[0], clock)).status_code == 429


def test_a_one_time_link_needs_no_code(client, codes, ada):
    client.post(f"/signin/{signin_links.issue(ada)}")
    assert signed_in(client)


def test_without_the_password_step_there_is_no_code_step(client, codes):
    assert client.get("/signin/code")["Location"] == "/signin"
    assert enter(client, "000000")["Location"] == "/signin"


def test_the_key_is_stored_encrypted_with_the_secret_key(codes, client, settings, clock):
    stored = Authenticator.objects.get(type="totp").data["secret"]
    assert codes[0] not in stored
    assert decrypt(stored) == codes[0]
    settings.SECRET_KEY = "another" * 10
    password_step(client)
    assert enter(client, code_of(codes[0], clock)).status_code == 403


def test_codes_are_required_after_single_sign_on(configure, sign_in, client, codes, ada, provider):
    configure()
    ada.socialaccount_set.create(provider="oidc-test", uid="ada-1")
    assert sign_in()["Location"] == "/signin/code"
    assert not signed_in(client)


def test_switching_codes_off_ends_them_and_the_recovery_codes(client, codes, clock):
    password_step(client)
    enter(client, code_of(codes[0], clock))
    confirm(client)
    client.post("/account/security/codes/off")
    assert not Authenticator.objects.exists()
    assert noted("factor.remove") == ["totp"]
    other = Client()
    assert password_step(other)["Location"] == "/"


def test_new_recovery_codes_end_the_old_ones(client, codes, clock):
    password_step(client)
    enter(client, code_of(codes[0], clock))
    confirm(client)
    assert "<p>10 unused codes end.</p>" in client.get("/account/security/recovery/new").content.decode()
    shown = client.post("/account/security/recovery/new", follow=True).content.decode()
    new = RECOVERY.findall(shown)
    assert len(new) == 10
    assert not set(new) & set(codes[1])
    assert noted("recovery_codes.create") == [""]
    other = Client()
    password_step(other)
    assert enter(other, codes[1][0]).status_code == 403
    assert enter(other, new[0]).status_code == 302

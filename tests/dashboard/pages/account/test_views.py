"""Signing in by one-time link and password, throttling, and the theme."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from dashboard.pages.account.throttle import attempts
from recorder.access import signin_links
from recorder.models import SignInLink

PASSWORD = "correct horse battery"


@pytest.fixture(autouse=True)
def fresh_count():
    attempts.clear()


@pytest.fixture
def ada(db):
    return User.objects.create_user("ada", password=PASSWORD)


def signed_in(client):
    return "_auth_user_id" in client.session


def post_sign_in(client, username="ada", password="wrong", **extra):
    return client.post("/signin", {"username": username, "password": password}, **extra)


def test_a_link_shows_a_button_and_only_its_post_signs_in(client, ada):
    path = f"/signin/{signin_links.issue(ada)}"

    response = client.get(path)
    assert response.status_code == 200
    assert not signed_in(client)
    assert response["Cache-Control"] == "no-store"
    assert response["Referrer-Policy"] == "no-referrer"

    redirect = client.post(path)
    assert (redirect.status_code, redirect["Location"]) == (302, "/")
    assert redirect["Cache-Control"] == "no-store"
    assert signed_in(client)


def test_a_link_works_once(client, ada):
    path = f"/signin/{signin_links.issue(ada)}"
    client.post(path)
    client.post("/signout")

    assert client.post(path).status_code == 410
    assert not signed_in(client)


def test_a_link_expires(client, ada):
    path = f"/signin/{signin_links.issue(ada)}"
    SignInLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    assert client.post(path).status_code == 410
    assert not signed_in(client)


def test_a_link_of_an_inactive_user_is_refused(client, ada):
    path = f"/signin/{signin_links.issue(ada)}"
    User.objects.update(is_active=False)

    assert client.post(path).status_code == 410


def test_an_unknown_link_looks_like_a_used_one(client, ada):
    path = f"/signin/{signin_links.issue(ada)}"
    client.post(path)
    client.post("/signout")

    used, unknown = client.post(path), client.post("/signin/nonsense")
    assert used.status_code == unknown.status_code == 410
    assert without_tokens(used.content.decode()) == without_tokens(unknown.content.decode())


def test_only_the_hash_of_a_link_is_stored(ada):
    secret = signin_links.issue(ada)
    kept = SignInLink.objects.get()

    assert secret not in kept.secret_hash
    assert len(kept.secret_hash) == 64


def test_creating_a_link_deletes_expired_links(ada):
    signin_links.issue(ada)
    SignInLink.objects.update(expires_at=timezone.now() - timedelta(minutes=1))
    signin_links.issue(ada)

    assert SignInLink.objects.count() == 1


def test_signing_in_gives_a_new_session(client, ada):
    client.get("/signin")
    client.post("/theme", {"theme": "dark"})
    before = client.session.session_key
    client.post(f"/signin/{signin_links.issue(ada)}")

    assert client.session.session_key != before


def test_a_password_signs_in_and_redirects(client, ada):
    answer = client.post(
        "/signin", {"username": "ada", "password": PASSWORD, "next": "/p/default/settings?a=1"}
    )

    assert (answer.status_code, answer["Location"]) == (302, "/p/default/settings?a=1")
    assert signed_in(client)


@pytest.mark.parametrize(
    "after", ["https://evil.example/", "//evil.example", "javascript:alert(1)", "/\\evil.example"]
)
def test_sign_in_never_redirects_to_another_site(client, ada, after):
    answer = client.post("/signin", {"username": "ada", "password": PASSWORD, "next": after})

    assert answer["Location"] == "/"


def test_a_wrong_password_and_an_unknown_user_get_the_same_answer(client, ada):
    wrong, unknown = post_sign_in(client), post_sign_in(client, username="bob")

    assert wrong.status_code == unknown.status_code == 403
    assert without_tokens(wrong.content.decode().replace("ada", "bob")) == without_tokens(
        unknown.content.decode()
    )


def without_tokens(html):
    return [
        line for line in html.splitlines() if "csrfmiddlewaretoken" not in line and "data-now" not in line
    ]


@pytest.mark.parametrize("username", ["ada", "nobody"])
def test_the_sixth_attempt_in_a_minute_is_throttled_for_existing_and_unknown_users(client, ada, username):
    answers = [post_sign_in(client, username=username) for _ in range(6)]

    assert [answer.status_code for answer in answers] == [403] * 5 + [429]
    assert answers[-1]["Retry-After"] == "60"
    assert post_sign_in(client, username="carol").status_code == 403
    assert post_sign_in(client, username=username, REMOTE_ADDR="10.0.0.9").status_code == 403


def test_the_right_password_is_throttled_too(client, ada):
    for _ in range(5):
        post_sign_in(client, username="ADA")

    assert post_sign_in(client, password=PASSWORD).status_code == 429
    assert not signed_in(client)


@pytest.mark.parametrize("username", ["a\x00b", "x" * 5_000, "<script>alert(1)</script>"])
def test_hostile_user_names_are_wrong_user_names(client, db, username):
    answer = post_sign_in(client, username=username)

    assert answer.status_code == 403
    assert b"<script>alert" not in answer.content


def test_signing_out_needs_a_post_and_ends_the_session(client, ada):
    client.force_login(ada)

    assert client.get("/signout").status_code == 405
    assert signed_in(client)
    assert client.post("/signout")["Location"] == "/signin"
    assert not signed_in(client)


def test_the_sign_in_page_redirects_a_signed_in_user(client, ada):
    client.force_login(ada)

    assert client.get("/signin?next=/p/default/settings")["Location"] == "/p/default/settings"


@pytest.mark.parametrize("path", ["/signin", "/signin/abc", "/signout", "/theme"])
def test_a_post_without_a_csrf_token_is_refused(path, db):
    answer = Client(enforce_csrf_checks=True).post(path)

    assert answer.status_code == 403
    assert b"This form has expired" in answer.content


def test_a_theme_is_stored_in_a_cookie_and_rendered_by_the_server(client, db):
    answer = client.post("/theme", {"theme": "dark", "next": "/signin"})

    assert answer["Location"] == "/signin"
    assert answer.cookies["theme"]["httponly"]
    assert b'data-theme="dark"' in client.get("/signin").content
    client.post("/theme", {"theme": "system"})
    assert b"data-theme" not in client.get("/signin").content


def test_an_invalid_theme_cookie_is_ignored(client, db):
    client.cookies["theme"] = '"><script>'

    assert b'<html lang="en">' in client.get("/signin").content

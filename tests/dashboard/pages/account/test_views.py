"""Signing in: one-time links, passwords, throttling; and how the pages look."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from recorder.access import signin_links
from recorder.models import SignInLink

PASSWORD = "correct horse battery"


@pytest.fixture(autouse=True)
def fresh_count():
    cache.clear()


@pytest.fixture
def ada(db):
    return User.objects.create_user("ada", password=PASSWORD)


def signed_in(client):
    return "_auth_user_id" in client.session


def tried(client, username="ada", password="wrong", **extra):
    return client.post("/signin", {"username": username, "password": password}, **extra)


def test_a_link_shows_a_button_and_only_pressing_it_signs_in(client, ada):
    path = f"/signin/{signin_links.issue(ada)}"

    looked = client.get(path)
    assert looked.status_code == 200
    assert not signed_in(client)
    assert looked["Cache-Control"] == "no-store"
    assert looked["Referrer-Policy"] == "no-referrer"

    pressed = client.post(path)
    assert (pressed.status_code, pressed["Location"]) == (302, "/")
    assert pressed["Cache-Control"] == "no-store"
    assert signed_in(client)


def test_a_link_works_once(client, ada):
    path = f"/signin/{signin_links.issue(ada)}"
    client.post(path)
    client.post("/signout")

    assert client.post(path).status_code == 410
    assert not signed_in(client)


def test_a_link_runs_out(client, ada):
    path = f"/signin/{signin_links.issue(ada)}"
    SignInLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    assert client.post(path).status_code == 410
    assert not signed_in(client)


def test_a_link_of_someone_who_may_no_longer_enter_is_refused(client, ada):
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


def test_of_a_link_only_a_hash_is_kept(ada):
    secret = signin_links.issue(ada)
    kept = SignInLink.objects.get()

    assert secret not in kept.secret_hash
    assert len(kept.secret_hash) == 64


def test_links_that_ran_out_are_swept_away_by_the_next(ada):
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


def test_a_password_signs_in_and_leads_on(client, ada):
    answer = client.post(
        "/signin", {"username": "ada", "password": PASSWORD, "next": "/p/default/settings?a=1"}
    )

    assert (answer.status_code, answer["Location"]) == (302, "/p/default/settings?a=1")
    assert signed_in(client)


@pytest.mark.parametrize(
    "after", ["https://evil.example/", "//evil.example", "javascript:alert(1)", "/\\evil.example"]
)
def test_nobody_is_led_to_another_site(client, ada, after):
    answer = client.post("/signin", {"username": "ada", "password": PASSWORD, "next": after})

    assert answer["Location"] == "/"


def test_a_wrong_password_and_an_unknown_user_get_the_same_answer(client, ada):
    wrong, unknown = tried(client), tried(client, username="bob")

    assert wrong.status_code == unknown.status_code == 403
    assert without_tokens(wrong.content.decode().replace("ada", "bob")) == without_tokens(
        unknown.content.decode()
    )


def without_tokens(html):
    return [
        line for line in html.splitlines() if "csrfmiddlewaretoken" not in line and "data-now" not in line
    ]


@pytest.mark.parametrize("username", ["ada", "nobody"])
def test_the_sixth_try_in_a_minute_waits_whether_the_user_exists_or_not(client, ada, username):
    answers = [tried(client, username=username) for _ in range(6)]

    assert [answer.status_code for answer in answers] == [403] * 5 + [429]
    assert answers[-1]["Retry-After"] == "60"
    assert tried(client, username="carol").status_code == 403
    assert tried(client, username=username, REMOTE_ADDR="10.0.0.9").status_code == 403


def test_the_right_password_waits_too_once_there_were_too_many_tries(client, ada):
    for _ in range(5):
        tried(client, username="ADA")

    assert tried(client, password=PASSWORD).status_code == 429
    assert not signed_in(client)


@pytest.mark.parametrize("username", ["a\x00b", "x" * 5_000, "<script>alert(1)</script>"])
def test_hostile_names_are_only_wrong(client, db, username):
    answer = tried(client, username=username)

    assert answer.status_code == 403
    assert b"<script>alert" not in answer.content


def test_signing_out_needs_a_post_and_ends_the_session(client, ada):
    client.force_login(ada)

    assert client.get("/signout").status_code == 405
    assert signed_in(client)
    assert client.post("/signout")["Location"] == "/signin"
    assert not signed_in(client)


def test_whoever_is_signed_in_is_led_on_from_the_sign_in_page(client, ada):
    client.force_login(ada)

    assert client.get("/signin?next=/p/default/settings")["Location"] == "/p/default/settings"


@pytest.mark.parametrize("path", ["/signin", "/signin/abc", "/signout", "/theme"])
def test_a_post_without_the_form_s_token_is_refused(path, db):
    answer = Client(enforce_csrf_checks=True).post(path)

    assert answer.status_code == 403
    assert b"This form has expired" in answer.content


def test_a_theme_is_kept_in_a_cookie_and_drawn_by_the_server(client, db):
    answer = client.post("/theme", {"theme": "dark", "next": "/signin"})

    assert answer["Location"] == "/signin"
    assert answer.cookies["theme"]["httponly"]
    assert b'data-theme="dark"' in client.get("/signin").content
    client.post("/theme", {"theme": "system"})
    assert b"data-theme" not in client.get("/signin").content


def test_a_cookie_cannot_put_anything_else_into_the_page(client, db):
    client.cookies["theme"] = '"><script>'

    assert b'<html lang="en">' in client.get("/signin").content

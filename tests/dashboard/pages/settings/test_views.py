"""Settings: tokens, roles, retention, and a fixed number of queries."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.urls import resolve
from django.utils import timezone

from recorder.access import tokens
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import AccessToken, Membership, Project
from recorder.operations import retention
from tests.support.build import line, small_loop

PAGE = "/p/acme/settings"


@pytest.fixture
def acme(db):
    return Project.objects.create(slug="acme")


@pytest.fixture
def someone(client, acme):
    """Sign in as a member with the role that is asked for."""

    def sign_in(role):
        user = User.objects.create_user(f"one-{role}", password=None)
        Membership.objects.create(project=acme, user=user, role=role)
        client.force_login(user)
        return user

    return sign_in


def test_only_members_see_the_settings(client, acme):
    assert client.get(PAGE)["Location"] == f"/signin?next={PAGE}"
    client.force_login(User.objects.create_user("outsider"))

    assert client.get(PAGE).status_code == 404
    assert client.post(f"{PAGE}/title", {"title": "mine"}).status_code == 404
    assert client.post(f"{PAGE}/tokens", {"name": "x", "scope": "ingest"}).status_code == 404
    assert not AccessToken.objects.exists()


def test_an_admin_renames_the_project_and_its_url_stays(client, someone, acme):
    someone("admin")
    client.post(f"{PAGE}/title", {"title": "  Acme\x00 <b>\nplatform  "})

    acme.refresh_from_db()
    assert (acme.title, acme.slug) == ("Acme <b> platform", "acme")
    assert b"Acme &lt;b&gt; platform" in client.get(PAGE).content


def test_a_new_token_is_shown_once_and_works(client, someone):
    user = someone("admin")
    answer = client.post(f"{PAGE}/tokens", {"name": "ci", "scope": ["ingest", "read"]})
    shown = re.search(r"<code[^>]*>(lsk_\w+)</code>", answer.content.decode())[1]

    assert "no-store" in answer["Cache-Control"]
    found = tokens.find(shown)
    assert (found.name, found.scopes, found.created_by) == ("ci", "ingest,read", user)
    again = client.get(PAGE).content.decode()
    assert shown not in again
    assert f"lsk_{found.key}_" in again


@pytest.mark.parametrize("scopes", [[], ["admin"], ["ingest", "everything"]])
def test_a_token_needs_valid_scopes(client, someone, scopes):
    someone("admin")

    assert client.post(f"{PAGE}/tokens", {"name": "ci", "scope": scopes}).status_code == 400
    assert not AccessToken.objects.exists()


@pytest.mark.parametrize("days", ["-5", "0", "abc", "1.5", " ", "3651", "1" * 30])
def test_a_wrong_expiry_makes_no_token(client, someone, days):
    someone("admin")
    answer = client.post("/p/acme/settings/tokens", {"name": "ci", "scope": "read", "days": days})
    assert answer.status_code == 400
    assert "A token expires after 1 to 3650 days, or never." in answer.content.decode()
    assert not AccessToken.objects.exists()


def test_a_revoked_token_stays_listed_and_is_refused(client, someone, acme):
    someone("admin")
    token = tokens.issue(acme, "old", ["read"])
    client.post(f"{PAGE}/tokens/{token.split('_')[1]}/revoke")

    assert tokens.find(token) is None
    assert "revoked" in client.get(PAGE).content.decode()


def test_another_project_s_token_cannot_be_revoked_from_here(client, someone):
    someone("admin")
    token = tokens.issue(Project.objects.create(slug="other"), "theirs", ["read"])
    client.post(f"{PAGE}/tokens/{token.split('_')[1]}/revoke")

    assert tokens.find(token) is not None


@pytest.mark.parametrize(
    ("role", "title", "token", "revoke"),
    [("viewer", 403, 403, 403), ("member", 403, 403, 403), ("admin", 302, 200, 302)],
)
def test_what_each_role_may_do(client, someone, acme, role, title, token, revoke):
    someone(role)
    key = tokens.issue(acme, "laptops", ["ingest"]).split("_")[1]

    assert client.get(PAGE).status_code == 200
    assert client.post(f"{PAGE}/title", {"title": "x"}).status_code == title
    assert client.post(f"{PAGE}/tokens", {"name": "x", "scope": "ingest"}).status_code == token
    assert client.post(f"{PAGE}/tokens/{key}/revoke").status_code == revoke


@pytest.mark.parametrize("role", ["viewer", "member"])
def test_actions_that_a_role_may_not_do_are_not_shown(client, someone, acme, role):
    tokens.issue(acme, "laptops", ["ingest"])
    someone(role)
    html = client.get(PAGE).content.decode()

    assert "New token" not in html
    assert "Revoke this token" not in html
    assert "Save" not in html


def test_names_are_escaped(client, someone):
    someone("admin")
    client.post(f"{PAGE}/tokens", {"name": '"><img src=x onerror=alert(1)>', "scope": "ingest"})

    assert b"<img" not in client.get(PAGE).content


@pytest.mark.parametrize(
    ("path", "form", "why"),
    [
        ("settings/tokens", {"name": "ci"}, "Select a scope"),
        ("settings/retention", {"days": "0"}, "1 to 36500 days"),
        ("attention/seen", {}, "The parameter session or upto"),
        ("demo/remove", {"name": "other"}, "Type the name of the project"),
    ],
)
def test_an_invalid_form_is_answered_with_the_reason(client, someone, path, form, why):
    someone("admin")
    answer = client.post(f"/p/acme/{path}", form)

    assert answer.status_code == 400
    assert_refused(answer.content.decode(), why)


def test_an_unknown_switch_is_refused(client, someone):
    someone("viewer")
    answer = client.post("/notifications/mute", {"row": "none"})

    assert answer.status_code == 400
    assert_refused(answer.content.decode(), "No such notification")


def assert_refused(html, why):
    assert "<h1>Invalid input</h1>" in html
    assert why in html
    assert 'rel="stylesheet"' in html


def test_nothing_changes_on_a_get(client, someone):
    someone("admin")
    for path in (f"{PAGE}/title", f"{PAGE}/tokens", f"{PAGE}/tokens/abc/revoke"):
        assert resolve(path)
        answer = client.get(path)
        assert (answer.status_code, answer["Allow"]) == (405, "POST")
        assert "<h1>Method not allowed</h1>" in answer.content.decode()


@pytest.mark.parametrize("rows", [1, 50])
def test_the_queries_do_not_grow_with_the_rows(client, someone, acme, rows, django_assert_num_queries):
    someone("admin")
    for number in range(rows):
        user = User.objects.create_user(f"m{number}", password=None)
        Membership.objects.create(project=acme, user=user)
        tokens.issue(acme, f"t{number}", ["ingest"], user=user)
    client.get(PAGE)

    with django_assert_num_queries(15):
        assert client.get(PAGE).status_code == 200


def test_an_admin_sets_the_retention(client, someone, acme):
    someone("admin")
    page = client.get(PAGE).content.decode()
    assert '<option value="30" selected>30 days</option>' in page
    assert "Nothing was pruned yet." in page

    for days, kept in (("45", 45), ("1", 1), ("", None)):
        assert client.post(f"{PAGE}/retention", {"days": days})["Location"] == f"{PAGE}#retention"
        acme.refresh_from_db()
        assert acme.retention_days == kept
    page = client.get(PAGE).content.decode()
    assert '<option value="" selected>forever</option>' in page


@pytest.mark.parametrize("days", ["0", "-1", "1.5", "36501", "0000000011999999", "9" * 30, "many", "٣"])
def test_an_invalid_retention_is_refused(client, someone, acme, days):
    someone("admin")
    answer = client.post(f"{PAGE}/retention", {"days": days})

    assert (answer.status_code, b"1 to 36500 days" in answer.content) == (400, True)
    acme.refresh_from_db()
    assert acme.retention_days == 30


@pytest.mark.parametrize("role", ["viewer", "member"])
def test_only_an_admin_sets_the_retention(client, someone, acme, role):
    someone(role)
    assert client.post(f"{PAGE}/retention", {"days": "7"}).status_code == 403
    assert "settings/retention" not in client.get(PAGE).content.decode()
    acme.refresh_from_db()
    assert acme.retention_days == 30


def test_the_page_shows_the_last_pruning_and_unanalysed_lines(client, someone, acme):
    someone("viewer")
    long_ago = timezone.now() - timedelta(days=40)
    ended = [line(event) for event in small_loop()]
    ingest(Batch(acme.pk, "p", 0, ended, received_at=long_ago))
    retention.prune(acme, timezone.now())
    page = client.get(PAGE).content.decode()

    assert "0 lines, 0 B, received before" in page
    assert f"{len(ended)} older lines kept: not analysed yet" in page
    assert "Nothing was pruned yet" not in page


def test_a_token_is_rotated_once_and_expires_at_the_chosen_time(client, someone):
    someone("admin")
    client.post(f"{PAGE}/tokens", {"name": "ci", "scope": ["ingest"], "days": "30"})
    old = AccessToken.objects.get()
    assert timedelta(days=29) < old.expires_at - timezone.now() <= timedelta(days=30)
    page = client.post(f"{PAGE}/tokens/{old.key}/rotate").content.decode()
    new = re.search(r"<code[^>]*>(lsk_\w+)</code>", page)[1]
    assert tokens.find(new).name == "ci"
    assert "old secret" in page
    assert client.post(f"{PAGE}/tokens/{old.key}/rotate").status_code == 409
    assert client.post(f"{PAGE}/tokens", {"name": "x", "scope": "ingest", "days": "0"}).status_code == 400


def test_the_address_of_the_last_use_of_a_token_is_for_admins(client, acme, someone):
    tokens.issue(acme, "ci", ["read"])
    AccessToken.objects.update(last_used_at=timezone.now(), last_used_from="10.0.0.77")
    for role, is_shown in (("viewer", False), ("member", False), ("admin", True)):
        someone(role)
        assert ("10.0.0.77" in client.get(PAGE).content.decode()) is is_shown

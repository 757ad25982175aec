"""Access tokens and the commands that make them."""

import re
from datetime import timedelta
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client as Browser
from django.utils import timezone

from recorder.access import tokens
from recorder.access.rights import Right
from recorder.models import AccessToken, Project

pytestmark = pytest.mark.django_db


@pytest.fixture
def project():
    return Project.objects.create(slug="default")


def run(*words):
    out = StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


def test_a_token_is_found_and_says_what_it_may(project):
    found = tokens.find(tokens.issue(project, "mine", ["ingest"]))

    assert found.project == project
    assert tokens.has_right(found, Right.INGEST)
    assert not tokens.has_right(found, Right.READ)


def test_all_endpoints_accept_the_same_tokens(project):
    good = tokens.issue(project, "good", ["ingest"], expires=timezone.now() + timedelta(minutes=1))
    late = tokens.issue(project, "late", ["ingest"], expires=timezone.now() - timedelta(seconds=1))
    gone = tokens.issue(project, "gone", ["ingest"])
    tokens.revoke(gone)

    known = tokens.look_up(good)

    assert (known.pk, known.project) == (AccessToken.objects.get(name="good").pk, project.pk)
    assert tokens.has_right(known, Right.INGEST)
    assert not tokens.has_right(known, Right.READ)
    for bad in (late, gone, f"{good[:-64]}{'0' * 64}", "lsk_none_0", "lsk", ""):
        assert tokens.look_up(bad) is None


def test_a_rotated_token_works_beside_its_successor_for_a_day(project):
    old = run("token", "create", "--name", "ci", "--scopes", "ingest").strip()
    new = run("token", "rotate", old).strip()
    row = AccessToken.objects.get(key=tokens.key_of(old))
    assert [each.name for each in AccessToken.objects.all()] == ["ci", "ci"]
    assert tokens.has_right(tokens.find(new), Right.INGEST)
    assert not tokens.has_right(tokens.find(new), Right.READ)
    assert tokens.look_up(old) is not None
    assert timedelta(hours=23) < row.expires_at - timezone.now() <= timedelta(hours=24)
    with pytest.raises(CommandError, match="without a successor"):
        run("token", "rotate", tokens.key_of(old))
    AccessToken.objects.filter(pk=row.pk).update(expires_at=timezone.now())
    assert tokens.find(old) is None
    assert tokens.find(new) is not None


def test_a_token_of_some_days_expires(project):
    token = run("token", "create", "--days", "7").strip()
    left = tokens.find(token).expires_at - timezone.now()
    assert timedelta(days=6) < left <= timedelta(days=7)
    AccessToken.objects.update(expires_at=timezone.now())
    assert "expired" in run("token", "list")
    for days in ("0", "-5", "3651", "9" * 12):
        with pytest.raises(CommandError, match="after 1 to 3650 days, or never"):
            run("token", "create", "--days", days)


def test_only_a_hash_of_the_secret_is_stored(project):
    token = tokens.issue(project, "mine", ["ingest", "read"])

    kept = AccessToken.objects.values().get()
    assert token.rsplit("_", 1)[1] not in str(kept)
    assert len(token.rsplit("_", 1)[1]) * 4 == 256


@pytest.mark.parametrize(
    "bearer", ["", "lsk", "lsk__", "lsk_a", "lsk_a_b_c", "x_a_b", "lsk_\x00_b", "lsk_a\x00_b", "lsk_é_é"]
)
def test_what_is_no_token_is_not_found(project, bearer):
    assert tokens.find(bearer) is None


def test_a_valid_key_with_another_secret_is_no_token(project):
    _, key, _ = tokens.issue(project, "mine", ["ingest"]).split("_")

    assert tokens.find(f"lsk_{key}_{'0' * 64}") is None


def test_an_expired_token_is_not_found(project):
    token = tokens.issue(project, "mine", ["read"], expires=timezone.now() - timedelta(seconds=1))

    assert tokens.find(token) is None


@pytest.mark.parametrize("scopes", [[], ["write"], ["ingest", "admin"], [""], ["demo"]])
def test_an_unknown_scope_makes_no_token(project, scopes):
    with pytest.raises(ValueError, match="scopes are"):
        tokens.issue(project, "mine", scopes)


def test_the_command_prints_the_token_alone(project):
    printed = run("token", "create", "--project", "default", "--scopes", "ingest,read", "--name", "agent")

    assert tokens.find(printed.removesuffix("\n")).name == "agent"


def test_the_list_shows_no_secret(project):
    token = tokens.issue(project, "agent", ["ingest"])

    shown = run("token", "list")

    assert "agent" in shown
    assert token.rsplit("_", 1)[1] not in shown


def test_the_list_shows_when_and_from_where_a_token_was_used(project):
    token = tokens.find(tokens.issue(project, "agent", ["read"]))
    assert "never used" in run("token", "list")
    tokens.note_use(token, "10.0.0.7")
    assert re.search(r"used \d{4}-\d\d-\d\d \d\d:\d\d from 10\.0\.0\.7", run("token", "list"))


def test_a_use_is_noted_once_a_minute_and_costs_a_query_only_then(project, django_assert_num_queries):
    text = tokens.issue(project, "agent", ["read"])
    before = tokens.find(text)
    tokens.note_use(before, "10.0.0.7")
    tokens.note_use(before, "10.0.0.8")  # another process found the row before the first use
    used = tokens.find(text)
    assert used.last_used_from == "10.0.0.7"
    with django_assert_num_queries(0):
        tokens.note_use(used, "10.0.0.8")

    used.last_used_at -= timedelta(minutes=2)
    used.save()
    tokens.note_use(used, "10.0.0.8")
    assert tokens.find(text).last_used_from == "10.0.0.8"


@pytest.mark.parametrize("by", ["token", "name"])
def test_a_token_is_revoked_by_itself_or_by_its_name(project, by):
    token = tokens.issue(project, "agent", ["ingest"])

    run("token", "revoke", token if by == "token" else "agent")

    assert tokens.find(token) is None


def test_revoking_within_a_project_leaves_the_others_alone(project):
    other = tokens.issue(Project.objects.create(slug="other"), "agent", ["ingest"])
    tokens.issue(project, "agent", ["ingest"])

    run("token", "revoke", "agent", "--project", "default")

    assert tokens.find(other) is not None


@pytest.mark.parametrize(
    "words",
    [
        ("token", "create", "--project", "nowhere"),
        ("token", "create", "--scopes", "write"),
        ("token", "revoke", "nobody"),
        ("token", "revoke", "lsk_a_secret"),
        ("project", "create", "no spaces"),
        ("project", "create", "default"),
        ("signin_link",),
        ("signin_link", "--user", "nobody"),
    ],
)
def test_error_messages_contain_no_secrets(project, words):
    with pytest.raises(CommandError) as refused:
        run(*words)

    assert "secret" not in str(refused.value)


def test_projects_are_made_and_listed():
    run("project", "create", "mine", "--title", "My agents")

    assert "mine\tMy agents\n" in run("project", "list")


def test_a_sign_in_link_lets_its_user_in_once():
    User.objects.create_superuser("ada")
    path = run("signin_link", "--user", "ada").strip()
    browser, other = (Browser(headers={"host": "127.0.0.1"}) for _ in range(2))

    assert browser.post(path).status_code == 302
    assert browser.session["_auth_user_id"] == str(User.objects.get().pk)
    other.post(path)
    assert "_auth_user_id" not in other.session

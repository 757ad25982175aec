"""`user` and `member` from the command line."""

from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from recorder.access import signin_links
from recorder.models import AuditEntry, Project


def run(*words):
    out = StringIO()
    call_command(*words, stdout=out)
    return out.getvalue().strip()


@pytest.fixture
def acme(db):
    return Project.objects.create(slug="acme")


def test_a_user_is_created_with_a_link_that_signs_in(db):
    path = run("user", "create", "ada", "--email", "ada@example.org", "--superuser")
    user = signin_links.consume(path.removeprefix("/signin/"))
    assert (user.username, user.email, user.is_superuser) == ("ada", "ada@example.org", True)
    assert not user.has_usable_password()
    entries = AuditEntry.objects.order_by("pk").values_list("actor_kind", "action", "target")
    assert list(entries) == [("command", "user.create", "ada"), ("command", "signin.link", "ada")]


@pytest.mark.parametrize("words", [("ADA",), ("a b",), ("eve", "--email", "x"), ("",)])
def test_a_wrong_user_is_an_error(db, words):
    User.objects.create_user("ada")
    with pytest.raises(CommandError):
        run("user", "create", *words)
    assert User.objects.count() == 1


def test_users_are_listed_disabled_and_enabled(acme):
    run("user", "create", "ada")
    run("member", "add", "ada", "--project", "acme", "--role", "viewer")
    assert run("user", "list") == "ada\t\tactive\tacme:viewer"
    assert run("user", "disable", "Ada") == "Ada is disabled."
    assert "disabled" in run("user", "list")
    run("user", "enable", "ada")
    assert User.objects.get().is_active
    with pytest.raises(CommandError, match="There is no user 'bob'"):
        run("user", "disable", "bob")


def test_members_are_added_changed_listed_and_removed(acme):
    run("user", "create", "ada")
    assert run("member", "add", "ada", "--project", "acme", "--role", "admin") == "ada is admin of acme."
    assert run("member", "add", "ada", "--project", "acme") == "ada is member of acme."
    assert run("member", "list") == "acme\tada\tmember"
    assert run("member", "remove", "ada", "--project", "acme") == "ada is no longer a member of acme."
    assert run("member", "list", "--project", "acme") == ""
    with pytest.raises(CommandError, match="no member"):
        run("member", "remove", "ada", "--project", "acme")
    with pytest.raises(CommandError, match="no project"):
        run("member", "add", "ada", "--project", "other")
    actions = AuditEntry.objects.order_by("pk").values_list("action", flat=True)
    assert list(actions) == [
        *("user.create", "signin.link"),
        *("member.add", "member.role", "member.remove"),
    ]

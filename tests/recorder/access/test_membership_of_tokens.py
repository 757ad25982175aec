"""The tokens of a member end when the membership does, whatever ended it."""

import pytest
from channels.db import database_sync_to_async
from django.contrib.auth.models import User
from django.db import connection

from recorder.access import tokens
from recorder.models import AccessToken, Membership, Project
from tests.support.endpoint_clients import Client, post

ENDINGS = {
    "membership": lambda user: user.memberships.get().delete(),
    "memberships": lambda user: Membership.objects.filter(user=user).delete(),
    "by SQL": lambda user: sql("DELETE FROM recorder_membership WHERE user_id = %s", user.pk),
    "user": lambda user: user.delete(),
    "disabled": lambda user: User.objects.filter(pk=user.pk).update(is_active=False),
}


def sql(statement, *values):
    with connection.cursor() as cursor:
        cursor.execute(statement, values)


@pytest.fixture
def ada(project):
    user = User.objects.create_user("ada")
    project.memberships.create(user=user)
    return user


def valid(token):
    """Return whether both look-ups know a token."""
    found = {tokens.find(token) is not None, tokens.look_up(token) is not None}
    assert len(found) == 1
    return found.pop()


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_tokens_of_a_removed_member_end_at_once(project, ada, ending):
    mine = tokens.issue(project, "mine", ["ingest", "read"], user=ada)
    of_the_command_line = tokens.issue(project, "other", ["ingest"])
    assert valid(mine)
    assert post(b"", mine).status == 200

    ENDINGS[ending](ada)

    assert not valid(mine)
    assert valid(of_the_command_line)
    assert post(b"", mine).status == 401


def test_tokens_of_a_former_member_do_not_come_back_with_a_new_membership(project, ada):
    mine = tokens.issue(project, "mine", ["read"], user=ada)
    ada.memberships.get().delete()
    project.memberships.create(user=ada)

    assert not valid(mine)
    assert AccessToken.objects.get().revoked_at is not None


def test_a_membership_ends_only_the_tokens_of_its_project_and_its_user(project, ada):
    other, bob = Project.objects.create(slug="other"), User.objects.create_user("bob")
    other.memberships.create(user=ada)
    project.memberships.create(user=bob)
    kept = [tokens.issue(other, "a", ["read"], user=ada), tokens.issue(project, "b", ["read"], user=bob)]
    ada.memberships.get(project=project).delete()

    assert [valid(each) for each in kept] == [True, True]


def test_a_superuser_needs_no_membership(project):
    root = User.objects.create_superuser("root")
    token = tokens.issue(project, "mine", ["read"], user=root)
    assert valid(token)

    User.objects.filter(pk=root.pk).update(is_superuser=False)
    assert not valid(token)


@pytest.mark.parametrize("ending", ["membership", "user", "disabled"])
async def test_an_open_ingest_socket_of_a_removed_member_ends(project, ada, monkeypatch, ending):
    monkeypatch.setattr("recorder.ingest.websocket.consumers.RECHECK_S", 0.05)
    mine = await database_sync_to_async(tokens.issue)(project, "mine", ["ingest"], user=ada)
    async with Client(mine) as client:
        await client.hello()
        await database_sync_to_async(ENDINGS[ending])(ada)

        assert await client.code() == 4401

"""The members page: who sees it, roles changed and taken away, each change in the audit log."""

import pytest
from django.contrib.auth.models import User

from recorder.access import tokens
from recorder.models import AuditEntry, Membership

PAGE = "/p/acme/settings/members"


def roles(acme):
    return dict(acme.memberships.values_list("user__username", "role"))


def audited(action):
    return list(AuditEntry.objects.filter(action=action).values_list("actor", "target", "before", "after"))


def test_members_see_the_list_and_only_admins_its_forms(client, signed_in, admin):
    assert client.get(PAGE)["Location"] == f"/signin?next={PAGE}"
    assert signed_in("stranger").get(PAGE).status_code == 404
    seen = signed_in("viewer", "viewer").get(PAGE).content.decode()
    assert "mira" in seen
    assert "Make an invite link" not in seen
    assert "Pending invites" not in seen
    shown = admin.get(PAGE).content.decode()
    assert "Make an invite link" in shown
    assert "Remove viewer from acme?" in shown


@pytest.mark.parametrize("path", ["", "/{pk}/role", "/{pk}/remove"])
def test_others_change_nothing(acme, signed_in, admin, path):
    before = roles(acme)
    for name, role, status in (("x", "", 404), ("y", "viewer", 403), ("z", "member", 403)):
        client = signed_in(name, role)
        before[name] = role
        answer = client.post(PAGE + path.format(pk=admin.user.pk), {"role": "admin", "name": "mira"})
        assert answer.status_code == status
    before.pop("x")
    assert roles(acme) == before
    assert not acme.invites.exists()


def test_an_admin_changes_a_role(acme, signed_in, admin):
    bob = signed_in("bob", "viewer").user
    answer = admin.post(f"{PAGE}/{bob.pk}/role", {"role": "member"})
    assert answer["Location"] == PAGE
    assert roles(acme)["bob"] == "member"
    assert audited("member.role") == [("mira", "bob", "viewer", "member")]
    admin.post(f"{PAGE}/{bob.pk}/role", {"role": "member"})
    assert len(audited("member.role")) == 1, "nothing changed the second time"


def test_an_unknown_role_is_refused(acme, signed_in, admin):
    bob = signed_in("bob", "viewer").user
    answer = admin.post(f"{PAGE}/{bob.pk}/role", {"role": "owner"})
    assert answer.status_code == 409
    assert "Roles are viewer, member, admin." in answer.content.decode()
    assert roles(acme)["bob"] == "viewer"


def test_a_member_is_removed_by_name_with_the_tokens(acme, signed_in, admin):
    bob = signed_in("bob", "member")
    token = tokens.issue(acme, "bobs", ["read"], user=bob.user)
    wrong = admin.post(f"{PAGE}/{bob.user.pk}/remove", {"name": "bo"})
    assert wrong.status_code == 400
    assert "bob" in roles(acme)
    admin.post(f"{PAGE}/{bob.user.pk}/remove", {"name": "bob"})
    assert "bob" not in roles(acme)
    assert tokens.find(token) is None
    assert bob.get(PAGE).status_code == 404
    assert audited("member.remove") == [("mira", "bob", "member", None)]


def test_a_user_of_another_project_cannot_be_touched(acme, signed_in, admin):
    stranger = signed_in("stranger").user
    assert admin.post(f"{PAGE}/{stranger.pk}/role", {"role": "viewer"}).status_code == 404
    assert admin.post(f"{PAGE}/{stranger.pk}/remove", {"name": "stranger"}).status_code == 404


def test_the_last_admin_stays_unless_a_superuser_takes_the_role(acme, signed_in, admin):
    for path, sent in ((f"/{admin.user.pk}/role", {"role": "viewer"}), ("/leave", {})):
        answer = admin.post(PAGE + path, sent)
        assert answer.status_code == 409
        assert "without an admin" in answer.content.decode()
    root = signed_in("root", is_superuser=True)
    root.post(f"{PAGE}/{admin.user.pk}/role", {"role": "viewer"})
    assert roles(acme)["mira"] == "viewer"


def test_a_member_leaves(acme, signed_in, admin):
    bob = signed_in("bob", "viewer")
    assert bob.post(f"{PAGE}/leave").status_code == 302
    assert "bob" not in roles(acme)
    root = signed_in("root", is_superuser=True)
    assert root.post(f"{PAGE}/leave").status_code == 400


def test_names_are_escaped_and_the_number_of_queries_is_fixed(
    acme, signed_in, admin, django_assert_max_num_queries
):
    User.objects.filter(pk=admin.user.pk).update(first_name="<b>Mira</b>")
    assert "&lt;b&gt;Mira" in admin.get(PAGE).content.decode()
    for n in range(20):
        Membership.objects.create(project=acme, user=User.objects.create_user(f"u{n}"), role="viewer")
    with django_assert_max_num_queries(14):
        admin.get(PAGE)

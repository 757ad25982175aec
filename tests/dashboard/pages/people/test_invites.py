"""Invites: made, shown once, used once, renewed, withdrawn, expired; and joining by them."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.utils import timezone

from recorder.models import AuditEntry, Invite, Membership
from recorder.operations.audit import COMMAND
from recorder.operations.people import invites
from recorder.operations.people.errors import Refused

PAGE = "/p/acme/settings/members"
PASSWORD = "correct horse battery"


def link_in(answer):
    found = re.search(r"http://testserver(/join/[\w-]+)", answer.content.decode())
    return found[1] if found else None


@pytest.fixture
def invite(admin):
    """Make an invite and return the path of its link."""

    def make(role="member", email=""):
        return link_in(admin.post(PAGE, {"role": role, "email": email}))

    return make


def joined(path, client=None, **sent):
    return (client or Client()).post(
        path, {"username": "carol", "password": PASSWORD, "email": "c@example.org", **sent}
    )


def test_a_link_is_shown_once_and_only_its_hash_is_stored(acme, admin, invite):
    path = invite()
    secret = path.rpartition("/")[2]
    assert len(secret) == 43
    assert link_in(admin.get(PAGE)) is None
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM recorder_invite")
        assert secret not in str(cursor.fetchall())
    assert secret not in str(list(AuditEntry.objects.values()))


def test_a_new_person_joins_with_a_password_once(acme, invite):
    path = invite("viewer")
    page = Client().get(path)
    assert "Join acme" in page.content.decode()
    assert (page["Cache-Control"], page["Referrer-Policy"]) == ("no-store", "no-referrer")
    client = Client()
    assert joined(path, client)["Location"].startswith("/p/acme/sessions")
    user = User.objects.get(username="carol")
    assert user.check_password(PASSWORD)
    assert acme.memberships.get(user=user).role == "viewer"
    assert client.get("/p/acme/sessions").status_code == 200
    again = Client().get(path)
    assert again.status_code == 410
    assert joined(path, username="dave").status_code == 410
    assert not User.objects.filter(username="dave").exists()
    actions = list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))
    assert actions == ["invite.create", "user.create", "invite.accept", "member.add", "signin"]


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        ({"password": "short"}, "too short"),
        ({"password": "password1234"}, "too common"),
        ({"username": "MIRA"}, "There is a user MIRA already."),
        ({"username": "a b"}, "valid username"),
        ({"email": "nowhere"}, "valid email"),
    ],
)
def test_a_refused_form_makes_nobody_and_the_link_still_works(admin, invite, sent, why):
    path = invite()
    answer = joined(path, **sent)
    assert answer.status_code == 400
    assert why in answer.content.decode()
    assert User.objects.count() == 1
    assert joined(path).status_code == 302


def test_a_signed_in_user_joins_as_themselves_and_keeps_a_higher_role(acme, signed_in, invite):
    bob = signed_in("bob")
    path = invite("member")
    assert "Join as bob" in bob.get(path).content.decode()
    bob.post(path)
    assert acme.memberships.get(user=bob.user).role == "member"
    bob.post(invite("viewer"))
    assert acme.memberships.get(user=bob.user).role == "member"
    bob.post(invite("admin"))
    assert acme.memberships.get(user=bob.user).role == "admin"


def test_the_address_of_an_invite_is_a_reminder_and_says_so(acme, admin, signed_in):
    pages = [admin.post(PAGE, {"role": "member", "email": "carol@example.org"}) for _ in range(2)]
    shown = " ".join(pages[0].content.decode().split())
    assert "for anyone who opens it. The address carol@example.org is a reminder and not checked." in shown
    assert "It is not checked: who has the link can join." in shown

    new, known = map(link_in, pages)
    form = Client().get(new).content.decode()
    assert "mira invites carol@example.org as member" in form
    assert 'value="carol@example.org"' in form
    assert "readonly" not in form
    joined(new, email="c@example.org")
    assert User.objects.get(username="carol").email == "c@example.org"

    bob = signed_in("bob", email="bob@example.org")
    assert "carol@example.org" in bob.get(known).content.decode()
    assert bob.post(known).status_code == 302
    assert acme.memberships.filter(user=bob.user).exists()


def test_a_renewed_invite_ends_the_old_link_and_a_withdrawn_one_all(acme, admin, invite):
    old = invite()
    pk = Invite.objects.get().pk
    new = link_in(admin.post(f"/p/acme/settings/invites/{pk}/renew"))
    assert Client().get(old).status_code == 410
    assert Client().get(new).status_code == 200
    admin.post(f"/p/acme/settings/invites/{pk}/withdraw")
    assert Client().get(new).status_code == 410
    assert admin.post(f"/p/acme/settings/invites/{pk}/renew").status_code == 404
    actions = AuditEntry.objects.order_by("pk").values_list("action", flat=True)
    assert list(actions) == ["invite.create", "invite.renew", "invite.withdraw"]


def test_an_invite_ends_after_seven_days(acme, admin, invite):
    path = invite()
    found = Invite.objects.get()
    assert found.expires_at - found.made_at == timedelta(days=7)
    Invite.objects.update(expires_at=timezone.now())
    assert Client().get(path).status_code == 410
    assert joined(path).status_code == 410
    assert "ended" in admin.get(PAGE).content.decode()


def _demote(user, project):
    Membership.objects.filter(user=user, project=project).update(role="member")


def _remove(user, project):
    Membership.objects.get(user=user, project=project).delete()


def _disable(user, project):
    User.objects.filter(pk=user.pk).update(is_active=False)


def _delete(user, project):
    user.delete()


@pytest.mark.parametrize("take_away", [_demote, _remove, _disable, _delete])
def test_an_invite_ends_with_the_right_of_who_made_it(acme, admin, signed_in, invite, take_away):
    paths = [invite("admin"), invite("admin")]
    nora = signed_in("nora", "admin")
    take_away(admin.user, acme)
    for path, client in zip(paths, (admin, Client()), strict=True):
        assert Client().get(path).status_code == 410
        assert joined(path, client).status_code == 410
    with pytest.raises(Refused):
        invites.accept(paths[0].rpartition("/")[2], nora.user, COMMAND)
    assert not Invite.objects.exclude(used_at=None).exists()
    assert nora.get(PAGE).content.decode().count("ended") == 2


def test_a_superuser_invites_without_a_membership(acme, signed_in):
    root = signed_in("root", is_superuser=True)
    path = link_in(root.post(PAGE, {"role": "viewer"}))
    assert Client().get(path).status_code == 200
    User.objects.update(is_superuser=False)
    assert Client().get(path).status_code == 410


def test_who_makes_a_new_link_answers_for_the_invite(acme, admin, signed_in, invite):
    invite()
    _demote(admin.user, acme)
    found = Invite.objects.get()
    path = link_in(signed_in("nora", "admin").post(f"/p/acme/settings/invites/{found.pk}/renew"))
    assert joined(path).status_code == 302
    assert Invite.objects.get().made_by.username == "nora"


def test_invites_of_another_project_are_not_reachable(acme, admin, signed_in, invite):
    invite()
    pk = Invite.objects.get().pk
    member = signed_in("bob", "member")
    assert member.post(f"/p/acme/settings/invites/{pk}/renew").status_code == 403
    assert signed_in("eve").post(f"/p/acme/settings/invites/{pk}/withdraw").status_code == 404
    other = type(acme).objects.create(slug="other")
    Membership.objects.create(project=other, user=admin.user, role="admin")
    assert admin.post(f"/p/other/settings/invites/{pk}/renew").status_code == 404


def test_guessed_names_are_limited(invite):
    path = invite()
    answers = [joined(path, username="mira", password="x" * 12).content.decode() for _ in range(7)]
    assert "Too many attempts" in answers[-1]


@pytest.mark.parametrize(
    ("sent", "why"),
    [({"role": "owner"}, "Roles are"), ({"role": "member", "email": "nobody"}, "valid email")],
)
def test_a_wrong_invite_is_refused_with_the_reason(admin, sent, why):
    answer = admin.post(PAGE, sent)
    assert answer.status_code == 400
    assert why in answer.content.decode()
    assert not Invite.objects.exists()

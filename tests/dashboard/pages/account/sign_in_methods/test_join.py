"""Joining with a passkey: what is no passkey makes nobody, and a refused name leaves the invite as it is.

A browser joins with a virtual authenticator in `tests/browser/account/test_sign_in.py`.
"""

import json
from html import unescape

import pytest
from django.contrib.auth.models import User
from django.test import Client

from recorder.models import Invite, Membership, Project
from recorder.operations.audit import COMMAND
from recorder.operations.people import invites
from tests.dashboard.pages.account.sign_in_methods.test_security_page import PASSKEY

MADE_UP = json.dumps(PASSKEY | {"response": {"clientDataJSON": "e30", "attestationObject": "YQ"}})
HOST = {"HTTP_HOST": "localhost"}


@pytest.fixture
def path(db, settings):
    settings.ALLOWED_HOSTS = ["*"]
    mira = User.objects.create_user("mira")
    project = Project.objects.create(slug="acme")
    Membership.objects.create(project=project, user=mira, role="admin")
    return f"/join/{invites.issue(project, 'viewer', mira, COMMAND)[1]}"


def requested(path, name="carol", **more):
    return Client().post(path, {"passkey": "1", "username": name, **more}, **HOST)


def test_a_passkey_is_offered_where_browsers_make_them(path, settings):
    assert "Use a passkey instead" in Client().get(path, **HOST).content.decode()
    assert "passkey" not in Client().get(path, HTTP_HOST="127.0.0.1").content.decode()


def test_the_options_are_for_a_user_who_does_not_exist_yet(path):
    answer = requested(path)
    assert (answer["Cache-Control"], answer["Referrer-Policy"]) == ("no-store", "no-referrer")
    options = unescape(answer.content.decode().partition('data-options="')[2].partition('"')[0])
    assert json.loads(options)["user"]["name"] == "carol"
    assert json.loads(options)["authenticatorSelection"]["userVerification"] == "required"
    assert User.objects.count() == 1


@pytest.mark.parametrize(
    ("name", "why"), [("MIRA", "There is a user MIRA already."), ("a b", "valid username"), ("", "username")]
)
def test_a_name_is_checked_before_the_passkey_is_made(path, name, why):
    answer = requested(path, name)
    assert answer.status_code == 400
    assert why in answer.content.decode()


@pytest.mark.parametrize("credential", ["", "x", "[]", '{"response": {}}', json.dumps(PASSKEY), MADE_UP])
@pytest.mark.parametrize("is_begun", [True, False])
def test_what_is_no_passkey_makes_nobody(path, credential, is_begun):
    client = Client()
    sent = {"passkey": "1", "username": "carol"}
    if is_begun:
        client.post(path, sent, **HOST)
    answer = client.post(path, {**sent, "credential": credential}, **HOST)
    assert answer.status_code == 400
    assert list(User.objects.values_list("username", flat=True)) == ["mira"]
    assert "_auth_user_id" not in client.session
    assert Invite.objects.get().used_at is None


def test_names_are_limited_as_sign_ins_are(path):
    answers = [requested(path) for _ in range(6)]
    assert [answer.status_code for answer in answers] == [200] * 5 + [400]
    assert "Too many attempts" in answers[-1].content.decode()

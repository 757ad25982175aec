"""The own account: profile, password, and the browsers in which a user is signed in."""

import re

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client

from recorder.access import signin_links
from recorder.models import AuditEntry, SignIn

PASSWORD = "correct horse battery"
NEW = "staple battery horse"


@pytest.fixture
def ada(db):
    return User.objects.create_user("ada", password=PASSWORD)


@pytest.fixture
def browser(ada):
    """Return a client in which ada has signed in by password."""

    def sign_in(agent="Firefox"):
        client = Client(headers={"user-agent": agent})
        answer = client.post("/signin", {"username": "ada", "password": PASSWORD})
        assert answer.status_code == 302
        return client

    return sign_in


def change(client, **sent):
    return client.post("/account/password", {"old": PASSWORD, "new": NEW, "again": NEW, **sent})


def is_in(client):
    return client.get("/account").status_code == 200


def test_the_account_needs_a_user(client, db):
    assert client.get("/account")["Location"] == "/signin?next=/account"


def test_name_and_address_are_changed(browser, ada):
    client = browser()
    assert (
        client.post("/account/profile", {"name": " Ada  L. ", "email": "ada@example.org"}).status_code == 302
    )
    ada.refresh_from_db()
    assert (ada.get_full_name(), ada.email) == ("Ada L.", "ada@example.org")
    assert client.post("/account/profile", {"name": "x", "email": "nowhere"}).status_code == 400
    entry = AuditEntry.objects.get(action="profile.change")
    assert entry.before == {"name": "", "email": "", "time_zone": ""}
    assert entry.after == {"name": "Ada L.", "email": "ada@example.org", "time_zone": ""}


def test_the_time_zone_is_stored_for_the_user_and_shown_at_once_and_after_the_next_sign_in(browser, ada):
    here, there = browser(), browser()
    form = {"name": "", "email": "", "zone": "Asia/Kathmandu"}
    assert "data-zone" not in here.get("/account").content.decode()
    assert here.post("/account/profile", form).status_code == 302
    for client, is_in_zone in ((here, True), (there, False), (browser(), True)):
        page = client.get("/account").content.decode()
        assert ('data-zone="Asia/Kathmandu"' in page) is is_in_zone
        assert ("<option selected>Asia/Kathmandu</option>" in page) is is_in_zone
    session = there.session
    session["seen"] -= 301  # seconds: a sign-in is looked at every five minutes
    session.save()
    there.get("/account")
    assert 'data-zone="Asia/Kathmandu"' in there.get("/account").content.decode()

    here.post("/account/profile", form | {"zone": ""})
    assert "data-zone" not in here.get("/account").content.decode()
    assert AuditEntry.objects.filter(action="profile.change").count() == 2


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../../etc/passwd", "localtime"])
def test_an_unknown_time_zone_is_refused(browser, zone):
    client = browser()
    assert client.post("/account/profile", {"zone": zone}).status_code == 400
    assert "data-zone" not in client.get("/account").content.decode()


def test_the_theme_is_chosen_in_the_profile(browser):
    client = browser()
    assert client.post("/theme", {"theme": "dark", "next": "/account"})["Location"] == "/account"
    assert '<option value="dark" selected>' in client.get("/account").content.decode()
    client.post("/theme", {"theme": "system", "next": "/account"})
    assert "selected" not in client.get("/account").content.decode()


def test_a_new_password_ends_all_other_sign_ins(browser, ada):
    here, there = browser(), browser()
    link = f"/signin/{signin_links.issue(ada)}"
    assert change(here).status_code == 302
    assert is_in(here)
    assert not is_in(there)
    assert Client().post(link).status_code == 410
    ada.refresh_from_db()
    assert ada.check_password(NEW)
    assert SignIn.objects.count() == 1
    assert AuditEntry.objects.get(action="password.change").target == "ada"


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        ({"old": "wrong"}, "The old password is wrong."),
        ({"new": "short", "again": "short"}, "too short"),
        ({"again": "something else"}, "differ"),
    ],
)
def test_a_wrong_change_of_the_password_changes_nothing(browser, ada, sent, why):
    client = browser()
    answer = change(client, **sent)
    assert answer.status_code == 400
    assert why in answer.content.decode()
    ada.refresh_from_db()
    assert ada.check_password(PASSWORD)
    assert is_in(client)


def test_guesses_of_the_old_password_are_limited(browser):
    client = browser()
    assert [change(client, old="wrong").status_code for _ in range(6)][-1] == 429


def test_a_user_without_a_password_sets_one(db):
    client = Client()
    user = User.objects.create_user("bob")
    client.force_login(user)
    assert "Set a password" in client.get("/account").content.decode()
    assert client.post("/account/password", {"new": NEW, "again": NEW}).status_code == 302
    user.refresh_from_db()
    assert user.check_password(NEW)


def test_sign_ins_are_listed_and_ended_one_by_one_and_all(browser, ada):
    here, there, third = browser("Firefox <b>"), browser("Safari"), browser("Chrome")
    page = here.get("/account").content.decode()
    assert "3 browsers" in page
    assert "Firefox &lt;b&gt;" in page
    assert page.count("this browser") == 1
    safari = SignIn.objects.get(agent="Safari").pk
    here.post("/account/signins", {"which": safari})
    assert [is_in(each) for each in (here, there, third)] == [True, False, True]
    here.post("/account/signins")
    assert [is_in(each) for each in (here, there, third)] == [True, False, False]
    assert Session.objects.count() == 1
    assert AuditEntry.objects.filter(action="signin.end").count() == 2


def test_the_sign_in_of_another_user_cannot_be_ended(browser, ada):
    client = browser()
    other = Client()
    other.force_login(User.objects.create_user("bob"))
    theirs = SignIn.objects.get(user__username="bob").pk
    client.post("/account/signins", {"which": theirs})
    assert SignIn.objects.filter(pk=theirs).exists()
    assert other.get("/account").status_code == 200


def test_signing_out_ends_the_entry(browser, ada):
    client, left = browser(), browser()
    left.post("/signout")
    assert "1 browser" in re.sub(r"\s+", " ", client.get("/account").content.decode())

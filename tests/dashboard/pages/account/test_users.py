"""Users and projects of the installation: for superusers only."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from recorder.models import AuditEntry, Project, SignIn


@pytest.fixture
def root(db):
    client = Client()
    client.user = User.objects.create_user("root", is_superuser=True)
    client.force_login(client.user)
    return client


@pytest.fixture
def ada(db):
    client = Client()
    client.user = User.objects.create_user("ada")
    client.force_login(client.user)
    return client


def act(root, user, action):
    return root.post(f"/users/{user.pk}", {"action": action})


def test_to_others_the_page_does_not_exist(client, ada):
    assert client.get("/users")["Location"] == "/signin?next=/users"
    for path in ("/users", f"/users/{ada.user.pk}", "/projects"):
        assert ada.post(path, {"action": "superuser", "slug": "x", "name": "x"}).status_code == 404
    assert ada.get("/users").status_code == 404
    assert User.objects.count() == 1


def test_a_new_user_gets_a_link_that_signs_in(root):
    page = root.post("/users", {"name": "bob", "email": "bob@example.org"}).content.decode()
    path = re.search(r"http://testserver(/signin/[\w-]+)", page)[1]
    bob = Client()
    assert bob.post(path).status_code == 302
    assert bob.get("/account").status_code == 200
    assert "/signin/" not in root.get("/users").content.decode()
    entries = AuditEntry.objects.filter(actor="root").order_by("pk").values_list("action", "target")
    assert list(entries) == [("user.create", "bob"), ("signin.link", "bob")]


def test_the_table_of_users_is_as_narrow_as_its_texts_so_that_buttons_cover_no_access(root):
    table = root.get("/users").content.decode().partition('aria-label="All users"')[2].partition("<thead>")[0]

    assert 'class="data-table is-short person-list"' in table


def test_a_link_for_another_user_is_in_the_audit_log(root, ada):
    assert "/signin/" in act(root, ada.user, "link").content.decode()
    entry = AuditEntry.objects.get()
    assert (entry.actor_kind, entry.actor, entry.action, entry.target) == (
        *("user", "root"),
        *("signin.link", "ada"),
    )
    assert entry.address


@pytest.mark.parametrize(
    ("sent", "why"),
    [({"name": "ROOT"}, "already"), ({"name": ""}, "user"), ({"name": "b", "email": "x"}, "valid email")],
)
def test_a_wrong_user_is_refused(root, sent, why):
    answer = root.post("/users", sent)
    assert answer.status_code == 400
    assert why in answer.content.decode()
    assert User.objects.count() == 1


def test_a_disabled_user_is_signed_out_and_comes_back_when_enabled(root, ada):
    act(root, ada.user, "disable")
    assert ada.get("/account").status_code == 302
    assert not SignIn.objects.filter(user=ada.user).exists()
    assert act(root, ada.user, "link").status_code == 409
    act(root, ada.user, "enable")
    ada.force_login(User.objects.get(username="ada"))
    assert ada.get("/account").status_code == 200
    actions = AuditEntry.objects.values_list("action", flat=True)
    assert sorted(actions) == ["user.disable", "user.enable"]


def link_of(root, user):
    return re.search(r"http://testserver(/signin/[\w-]+)", act(root, user, "link").content.decode())[1]


@pytest.mark.parametrize("action", ["disable", "no-superuser"])
def test_links_that_a_superuser_made_end_with_the_right(root, ada, action):
    act(root, ada.user, "superuser")
    bob = User.objects.create_user("bob")
    path = link_of(ada, bob)
    assert act(root, ada.user, action).status_code == 302
    assert Client().post(path).status_code == 410


def test_a_link_ends_with_the_account_and_stays_ended(root, ada):
    path, bob = link_of(root, ada.user), User.objects.create_user("bob")
    other = link_of(root, bob)
    act(root, ada.user, "disable")
    act(root, ada.user, "enable")
    assert Client().post(path).status_code == 410
    assert Client().post(other).status_code == 302


def test_the_last_superuser_stays(root, ada):
    assert act(root, root.user, "disable").status_code == 409
    assert act(root, root.user, "no-superuser").status_code == 409
    act(root, ada.user, "superuser")
    assert act(root, root.user, "no-superuser").status_code == 302
    assert ada.get("/users").status_code == 200
    assert root.get("/users").status_code == 404


def test_an_unknown_action_or_user_is_not_found(root, ada):
    assert act(root, ada.user, "delete").status_code == 404
    assert root.post("/users/99", {"action": "disable"}).status_code == 404


def test_a_project_is_created_once(root):
    assert root.post("/projects", {"slug": "acme", "title": "Acme"})["Location"] == "/p/acme/connect"
    assert root.get("/p/acme/sessions").status_code == 200
    assert root.post("/projects", {"slug": "acme"}).status_code == 400
    assert root.post("/projects", {"slug": "a b"}).status_code == 400
    assert Project.objects.filter(slug="acme").count() == 1
    assert AuditEntry.objects.get(action="project.create").project.slug == "acme"

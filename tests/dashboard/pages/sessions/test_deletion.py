"""Deleting sessions: for admins alone, after a typed confirmation, without scripts."""

import re

import pytest
from django.contrib.auth.models import User

from dashboard.live.viewer import PageGone
from dashboard.pages.session.events.queries.event_list import Scope
from dashboard.pages.session.live import SessionPage
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import AuditEntry, Deletion, Membership, Project, Session
from recorder.pubsub.invalidation import Invalidation, subscribe, unsubscribe
from tests.support.build import line
from tests.support.small_loop import Loop

PAGE = "/p/acme/sessions/delete"


@pytest.fixture
def acme(db):
    project = Project.objects.create(slug="acme")
    for name in ("one", "two"):
        ingest(Batch(project.pk, name, None, list(map(line, Loop(name).whole("<b>hello</b>")))))
    return project


@pytest.fixture
def someone(client, acme):
    def sign_in(role):
        user = User.objects.create_user(f"a-{role}", password=None, is_superuser=role == "superuser")
        if role in Membership.Role.values:
            Membership.objects.create(project=acme, user=user, role=role)
        client.force_login(user)
        return user

    return sign_in


def key(name="one"):
    return Session.objects.get(session_id=name).pk


@pytest.mark.parametrize(
    ("role", "status"),
    [("viewer", 403), ("member", 403), ("admin", 200), ("superuser", 200), ("stranger", 404)],
)
def test_admins_alone_may_delete(client, someone, role, status):
    someone(role)
    pk = key()
    assert client.get(PAGE, {"of": pk}).status_code == status
    answer = client.post(PAGE, {"of": pk, "confirm": "1"})
    assert answer.status_code == (302 if status == 200 else status)
    assert Session.objects.filter(pk=pk).exists() == (status != 200)


def test_nobody_is_sent_to_the_sign_in_page(client, acme):
    assert client.post(PAGE, {"of": key(), "confirm": "1"})["Location"].startswith("/signin")
    assert Session.objects.count() == 2


def test_the_page_lists_what_goes_and_asks_for_the_number(client, someone):
    someone("admin")
    page = client.get(PAGE, {"of": [key("one"), key("two")]}).content.decode()
    assert "Delete 2 sessions" in page
    assert re.search(r"2 loops, \d+ events", page)
    assert "<b>hello</b>" not in page


@pytest.mark.parametrize("word", ["", "2", "one", "ACME"])
def test_without_the_right_word_nothing_is_deleted(client, someone, word):
    someone("admin")
    answer = client.post(PAGE, {"of": key(), "confirm": word})
    assert answer.status_code == 400
    assert "Nothing was deleted" in answer.content.decode()
    assert Session.objects.count() == 2


@pytest.mark.parametrize("word", ["2", "acme"])
def test_the_result_has_the_counts_and_the_audit_log_the_person(client, someone, word):
    someone("admin")
    answer = client.post(PAGE, {"of": [key("one"), key("two")], "confirm": word}, follow=True)
    page = answer.content.decode()
    assert answer.status_code == 200
    assert "2 sessions deleted" in page
    assert not Session.objects.exists()
    assert Deletion.objects.filter(finished_at=None).count() == 0
    found = AuditEntry.objects.filter(action="session.delete").values_list("target", "actor", "address")
    assert set(found) == {("one", "a-admin", "127.0.0.1"), ("two", "a-admin", "127.0.0.1")}


def test_what_is_not_of_the_project_is_not_found(client, someone):
    other = Project.objects.create(slug="other")
    ingest(Batch(other.pk, "o", None, list(map(line, Loop("theirs").whole("x")))))
    someone("admin")
    assert client.get(PAGE, {"of": key("theirs")}).status_code == 404
    assert client.post(PAGE, {"of": [key("theirs")], "confirm": "1"}).status_code == 404
    assert client.get(PAGE).status_code == 404
    assert client.get(PAGE, {"of": "x' OR 1=1"}).status_code == 404
    assert Session.objects.filter(session_id="theirs").exists()


def test_pages_of_a_deleted_session_are_not_found(client, someone):
    someone("admin")
    pk = key()
    client.post(PAGE, {"of": pk, "confirm": "1"})
    assert client.get(f"/p/acme/sessions/{pk}").status_code == 404
    assert client.get("/api/v1/sessions/one", {"project": "acme"}).status_code == 404
    page = client.get("/p/acme/sessions").content.decode()
    assert f"/p/acme/sessions/{key('two')}" in page
    assert f"/p/acme/sessions/{pk}" not in page


def test_the_selection_bar_offers_it_to_admins(client, someone):
    someone("member")
    assert PAGE not in client.get("/p/acme/sessions").content.decode()
    someone("admin")
    assert PAGE in client.get("/p/acme/sessions").content.decode()


def test_open_pages_lose_it_at_once(client, someone, acme, django_capture_on_commit_callbacks):
    someone("admin")
    pk = key()
    page = SessionPage(acme.pk, pk, 0, "conversation", Scope(pk, 0))
    heard = []
    subscribe(heard.append)
    try:
        with django_capture_on_commit_callbacks(execute=True):
            client.post(PAGE, {"of": pk, "confirm": "1"})
    finally:
        unsubscribe(heard.append)

    (touched,) = [each for each in heard if each.deleted]
    assert (touched.project, touched.deleted, touched.sessions) == (acme.pk, {pk}, {pk})
    assert Invalidation.of(touched.message()).deleted == {pk}
    with pytest.raises(PageGone):  # its socket is closed, and refused when it comes back
        page.dirty_panels(touched)

"""Archiving, restoring and deleting a project on its settings, and what an archived project refuses."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from recorder.access import tokens
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import AuditEntry, DailyJob, JournalEvent, Membership, Project, ProjectDeletion, Session
from recorder.operations.people import project_deletion
from tests.support.build import line
from tests.support.small_loop import Loop

PAGE = "/p/acme/settings"


@pytest.fixture
def acme(db):
    project = Project.objects.create(slug="acme", title="Acme")
    ingest(Batch(project.pk, "p", None, list(map(line, Loop("one").whole("hello")))))
    return project


@pytest.fixture
def sign_in(acme):
    def signed_in(role, name="ada", **more):
        user = User.objects.create_user(name, **more)
        if role:
            Membership.objects.create(project=acme, user=user, role=role)
        client = Client()
        client.force_login(user)
        return client

    return signed_in


def text_of(answer):
    return " ".join(re.sub(r"<[^>]+>", " ", answer.content.decode()).split())


def archive(client):
    assert client.post(f"{PAGE}/archive", {"confirm": "acme"}).status_code == 302


def test_archiving_takes_the_typed_name(sign_in, acme):
    client = sign_in("admin")
    for typed in ("", "Acme", "other"):
        assert client.post(f"{PAGE}/archive", {"confirm": typed}).status_code == 400
    assert not Project.objects.exclude(archived_at=None).exists()
    archive(client)
    assert client.post(f"{PAGE}/archive", {"confirm": "acme"}).status_code == 409
    page = text_of(client.get(PAGE))
    assert "Archived: read-only" in page
    assert "Restore project" in page
    assert client.post(f"{PAGE}/restore").status_code == 302
    assert client.post(f"{PAGE}/restore").status_code == 409
    actions = AuditEntry.objects.order_by("pk").values_list("action", flat=True)
    assert list(actions) == ["project.archive", "project.restore"]


def test_an_archived_project_can_be_read_and_not_changed(sign_in, acme):
    client, key = sign_in("admin"), Session.objects.get().pk
    bearer = tokens.issue(acme, "ci", ["ingest", "read"])
    archive(client)
    for path in ("sessions", f"sessions/{key}", "settings", "settings/audit", "settings/members"):
        assert client.get(f"/p/acme/{path}").status_code == 200, path
    for path, form in (
        ("settings/title", {"title": "New"}),
        ("settings/retention", {"kind": "records", "days": "7"}),
        (f"sessions/{key}/pin", {"pinned": "1"}),
        ("views/new", {"page": "sessions", "name": "mine"}),
        ("sessions/delete", {"of": key, "confirm": "1"}),
    ):
        answer = client.post(f"/p/acme/{path}", form)
        assert answer.status_code == 403, path
        assert "This project is archived" in text_of(answer)
    with_token = {"headers": {"authorization": f"Bearer {bearer}"}}
    note = {"target": {"session_id": "one"}, "text": "x"}
    assert client.get("/api/v1/sessions", **with_token).status_code == 200
    written = Client().post("/api/v1/notes", note, content_type="application/json", **with_token)
    assert written.status_code == 403
    assert Project.objects.get().title == "Acme"


def test_the_switcher_lists_it_under_archived_only(sign_in, acme):
    client = sign_in("admin")
    other = Project.objects.create(slug="other")
    Membership.objects.create(project=other, user=User.objects.get(), role="viewer")
    assert "Archived" not in client.get("/p/other/sessions").content.decode()
    assert client.get("/")["Location"].startswith("/p/acme/")
    archive(client)
    menu = client.get("/p/other/sessions").content.decode().split('id="nav-projects"')[1].split("</div>")[0]
    before, _, under = menu.partition("Archived</h2>")
    assert ("/p/acme/" in before, "/p/acme/" in under) == (False, True)
    assert "/p/other/" in before
    assert client.get("/")["Location"].startswith("/p/other/")


def test_deleting_takes_the_typed_name_and_shows_the_progress(sign_in, acme):
    client = sign_in("admin")
    form = client.get(f"{PAGE}/delete")
    assert f"1 session, 1 loop and {JournalEvent.objects.count()} events are deleted for good" in text_of(
        form
    )
    assert client.post(f"{PAGE}/delete", {"confirm": "Acme"}).status_code == 400
    assert Project.objects.exists()

    begun = client.post(f"{PAGE}/delete", {"confirm": "acme"})

    assert begun["Location"] == f"/projects/deleted/{acme.pk}"
    assert DailyJob.objects.get(name="project").requested_at is not None
    assert client.get(PAGE).status_code == 404
    page = client.get(begun["Location"])
    assert "The server begins within a minute" in text_of(page)
    assert page["Refresh"] == "5"
    project_deletion.resume()
    page = client.get(begun["Location"])
    assert "The project acme is deleted" in text_of(page)
    assert "Refresh" not in page
    entry = AuditEntry.objects.get(action="project.delete")
    assert (entry.actor, entry.target, entry.before["sessions"]) == ("ada", "acme", 1)


def test_the_progress_is_for_the_user_who_requested_it_and_superusers(sign_in, acme):
    admin, stranger = sign_in("admin"), sign_in("", "eve")
    root = sign_in("", "root", is_superuser=True)
    admin.post(f"{PAGE}/delete", {"confirm": "acme"})
    address = f"/projects/deleted/{ProjectDeletion.objects.get().pk}"
    assert [each.get(address).status_code for each in (admin, root, stranger)] == [200, 200, 404]
    assert Client().get(address).status_code == 302


@pytest.mark.parametrize("role", ["viewer", "member"])
def test_only_admins_archive_and_delete(sign_in, acme, role):
    client = sign_in(role)
    assert "settings/delete" not in client.get(PAGE).content.decode()
    for path in ("archive", "restore", "delete"):
        assert client.post(f"{PAGE}/{path}", {"confirm": "acme"}).status_code == 403
    assert client.get(f"{PAGE}/delete").status_code == 403
    assert Project.objects.filter(archived_at=None).exists()

"""Start and removal of the demo: roles, requirements, and that other data stays."""

import json

import pytest
from django.contrib.auth.models import User

from dashboard.pages.demo import views
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import AuditEntry, Project, Session
from recorder.operations import server_info
from tests.support import build


@pytest.fixture
def project(db):
    return Project.objects.create(slug="acme")


@pytest.fixture
def sign_in(client, project):
    def as_role(role):
        user = User.objects.create_user(role)
        project.memberships.create(user=user, role=role)
        client.force_login(user)

    return as_role


def record(project, session, *, is_demo):
    lines = [json.dumps(event).encode() for event in build.small_loop(f"{session}.a.1")]
    batch = Batch(project=project.pk, producer=session, first=None, lines=lines, is_demo=is_demo)
    assert ingest(batch).rejected == []


@pytest.mark.parametrize("path", ["demo", "demo/remove"])
def test_a_viewer_may_not_play_or_remove_the_demo(client, sign_in, path):
    sign_in("viewer")

    assert client.post(f"/p/acme/{path}", {"name": "acme"}).status_code == 403
    assert client.get(f"/p/acme/{path}").status_code == 405


def test_the_demo_needs_the_address_of_the_server(client, sign_in, monkeypatch):
    monkeypatch.setattr(server_info, "address", lambda: None)
    sign_in("member")

    answer = client.post("/p/acme/demo")

    assert answer.status_code == 503
    assert "The address of this server is unknown" in answer.content.decode()


def test_playing_the_demo_is_an_entry_of_the_audit_log(client, sign_in, monkeypatch):
    monkeypatch.setattr(server_info, "address", lambda: "http://127.0.0.1:9/")
    monkeypatch.setattr(views, "play_in_background", lambda *_: None)  # a thread that sends to the server
    sign_in("member")
    client.post("/p/acme/demo")
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.actor, entry.target) == ("demo.play", "member", "acme")


def test_removing_the_demo_leaves_other_sessions(client, sign_in, project):
    sign_in("member")
    record(project, "real", is_demo=False)
    record(project, "played", is_demo=True)

    answer = client.post("/p/acme/demo/remove", {"name": "acme"})

    assert answer.status_code == 302
    assert [session.is_demo for session in Session.objects.all()] == [False]

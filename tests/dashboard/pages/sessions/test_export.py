"""Selected sessions as one file of JSON lines: their items, then their recorded lines."""

import json

import pytest
from django.contrib.auth.models import User

from dashboard.shared.session_json.queries import lines as lines_of
from recorder.models import Membership, Project, Session
from tests.support.small_loop import Loop


@pytest.fixture
def export(client, project):
    user = User.objects.create_user("reader")
    project.memberships.create(user=user, role=Membership.Role.VIEWER)
    client.force_login(user)

    def export(*pks, expect=200):
        answer = client.get("/p/default/sessions/export", {"of": pks})
        assert answer.status_code == expect
        return b"".join(answer).decode()

    return export


@pytest.fixture
def keys(feed):
    for n in range(3):
        feed(*Loop(f"s{n}").whole(f"task {n}"))
    return dict(Session.objects.values_list("session_id", "pk"))


def test_the_file_has_each_session_and_then_its_lines_in_the_order_of_the_selection(export, keys, client):
    lines = [json.loads(line) for line in export(keys["s2"], keys["s0"]).splitlines()]
    heads = [n for n, line in enumerate(lines) if "session" in line]
    raw = client.get("/api/v1/sessions/s2/events?project=default&envelope=1")

    assert [lines[n]["session"]["session_id"] for n in heads] == ["s2", "s0"]
    assert lines[1 : heads[1]] == [json.loads(line) for line in b"".join(raw).splitlines()]
    (item,) = client.get("/api/v1/sessions?project=default&q=task+2").json()["items"]
    assert lines[0]["session"] == item


def test_a_session_that_is_sent_twice_is_in_the_file_once(export, keys):
    assert export(keys["s1"], keys["s1"]).count('{"session": ') == 1


def test_lines_are_read_some_at_a_time(export, keys, monkeypatch):
    monkeypatch.setattr(lines_of, "ROWS", 2)
    whole = export(keys["s0"])
    monkeypatch.undo()
    assert whole == export(keys["s0"])


@pytest.mark.parametrize("of", [(), ("x",), ("",), tuple(range(1, 202))])
def test_what_no_page_selects_is_refused(export, keys, of):
    assert "Select 1 to 200 sessions." in export(*of, expect=400)


def test_a_session_of_another_project_does_not_exist(export, keys, feed):
    feed(*Loop("theirs").whole("secret"), into=Project.objects.create(slug="other"))
    export(keys["s0"], Session.objects.get(session_id="theirs").pk, expect=404)


def test_only_people_of_the_project_export(client, keys):
    path = f"/p/default/sessions/export?of={keys['s0']}"
    assert client.get(path).status_code == 302
    client.force_login(User.objects.create_user("stranger"))
    assert client.get(path).status_code == 404
    assert client.post(path).status_code == 405

"""Notification data, the switches, and the service worker."""

import json

import pytest
from django.contrib.auth.models import User
from django.template import Context, Template

from dashboard.lifecycle.notification_policy import POLICY, ROWS
from dashboard.notifications.queries import WAITING_SHOWN
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import Approval, LoopRecord, Membership, Mute, Project, Session
from tests.support import build

NOW, MUTE = "/notifications/now", "/notifications/mute"
REQUESTED, FAILED = "approval-requested", "turn-finished, error"


@pytest.fixture
def project(db):
    return Project.objects.create(slug="acme")


@pytest.fixture
def reader(client, project):
    user = User.objects.create_user("reader")
    Membership.objects.create(project=project, user=user, role="viewer")
    client.force_login(user)
    return user


def play(project, *events):
    ingest(Batch(project.pk, "p", None, [json.dumps(each).encode() for each in events], "native"))


def approval_request(loop="s.a.1", **more):
    return build.ours("ApprovalRequested", loop, kind="command", command="rm", **more)


def open_approvals(project, *loops):
    play(project, *[event for loop in loops for event in (build.agent_start(loop), approval_request(loop))])


def test_notifications_need_a_signed_in_user(client, db):
    assert client.get(NOW).status_code == 401
    assert client.post(MUTE, {"row": REQUESTED})["Location"].startswith("/signin")


def test_the_data_has_the_rows_that_may_notify_and_no_others(client, reader):
    response = client.get(NOW).json()
    assert response["rows"] == {row.key: row.says for row in ROWS if row.says}
    assert (response["reader"], response["muted"]) == (reader.pk, [])


def test_open_approvals_are_listed_until_they_are_resolved(client, reader, project):
    open_approvals(project, "s.a.1")
    loop, approval = LoopRecord.objects.get(), Approval.objects.get()
    url = f"/p/acme/sessions/{loop.session_id}/loops/{loop.pk}"
    assert client.get(NOW).json()["waiting"] == [
        {"event": approval.request_event, "url": url, "title": Session.objects.get().title or "s"}
    ]
    play(project, build.ours("ApprovalResolved", "s.a.1", command="rm", decision="granted"))
    assert client.get(NOW).json()["waiting"] == []


def test_of_very_many_approvals_the_newest_are_listed_in_order(client, reader, project):
    open_approvals(project, *[f"s{n}.a.1" for n in range(WAITING_SHOWN + 2)])
    events = [each["event"] for each in client.get(NOW).json()["waiting"]]
    assert events == sorted(events)
    assert len(events) == WAITING_SHOWN
    assert events[-1] == Approval.objects.latest("request_event").request_event


def test_a_session_has_its_title_or_else_its_id(client, reader, project):
    play(project, build.agent_start("s.a.1"), build.agent_start("t.a.1", title="Mend the roof"))
    pks = {row.session_id: row.pk for row in Session.objects.all()}
    titles = client.get(NOW, {"session": [pks["s"], pks["t"]]}).json()["titles"]
    assert titles == {str(pks["s"]): "s", str(pks["t"]): "Mend the roof"}


def test_sessions_of_other_projects_have_neither_titles_nor_approvals(client, reader):
    other = Project.objects.create(slug="other")
    open_approvals(other, "s.a.1")
    response = client.get(NOW, {"session": Session.objects.get().pk}).json()
    assert (response["titles"], response["waiting"]) == ({}, [])


@pytest.mark.parametrize("word", ["", "x", "-1", "1e3", "9" * 30, "²", "1 OR 1=1"])
def test_an_invalid_session_id_is_ignored(client, reader, word):
    assert client.get(NOW, {"session": word}).json()["titles"] == {}


def test_muted_rows_are_listed_and_muted_approvals_left_out(client, reader, project):
    open_approvals(project, "s.a.1")
    client.post(MUTE, {"row": FAILED, "notify": "off"})
    assert client.get(NOW).json()["muted"] == [FAILED]
    client.post(MUTE, {"row": REQUESTED, "notify": "off"})
    assert client.get(NOW).json()["waiting"] == []


def test_a_switch_belongs_to_one_user_and_turns_both_ways(client, reader, project):
    other = User.objects.create_user("other")
    for _ in range(2):  # twice is once
        response = client.post(
            MUTE, {"row": FAILED, "notify": "off", "next": "/p/acme/settings#notifications"}
        )
        assert response["Location"] == "/p/acme/settings#notifications"
    assert [(mute.user, mute.row) for mute in Mute.objects.all()] == [(reader, FAILED)]
    client.force_login(other)
    client.post(MUTE, {"row": FAILED, "notify": "on"})
    assert Mute.objects.count() == 1
    client.force_login(reader)
    client.post(MUTE, {"row": FAILED, "notify": "on"})
    assert not Mute.objects.exists()


def test_an_htmx_request_gets_the_switch_in_its_new_state(client, reader):
    for notify, checked, following in (("off", "false", "on"), ("on", "true", "off")):
        data = {"row": FAILED, "notify": notify, "next": "/x"}
        html = client.post(MUTE, data, headers={"HX-Request": "true"}).content.decode()
        assert f'aria-checked="{checked}"' in html
        assert f'name="notify" value="{following}"' in html
        assert 'name="next" value="/x"' in html


@pytest.mark.parametrize("row", [row.key for row in ROWS if not row.says] + ["", "turn-retrying"])
def test_a_row_that_never_notifies_has_no_switch(client, reader, row):
    assert client.post(MUTE, {"row": row, "notify": "off"}).status_code == 400
    assert not Mute.objects.exists()


def test_a_switch_does_not_redirect_to_another_site(client, reader):
    for place in ("https://evil.example/", "//evil.example", "javascript:alert(1)"):
        assert client.post(MUTE, {"row": FAILED, "notify": "off", "next": place})["Location"] == "/"


def test_other_methods_are_not_allowed(client, reader):
    assert client.get(MUTE).status_code == 405
    assert client.post(NOW).status_code == 405


@pytest.mark.parametrize("sessions", [1, 50])
def test_the_number_of_queries_is_fixed(client, reader, project, sessions, django_assert_num_queries):
    open_approvals(project, *[f"s{n}.a.1" for n in range(sessions)])
    keys = list(Session.objects.values_list("pk", flat=True))
    with django_assert_num_queries(5):  # two of them authenticate
        response = client.get(NOW, {"session": keys}).json()
    assert (len(response["titles"]), len(response["waiting"])) == (sessions, sessions)


def test_the_section_has_a_switch_for_each_row_that_notifies(client, reader, django_assert_num_queries):
    reader.mutes.create(row=FAILED)
    section = Template('{% load notifications %}{% notifications user "/p/acme/attention" %}')
    with django_assert_num_queries(1):
        html = section.render(Context({"user": reader}))
    for row in POLICY.values():
        assert f'<code class="text-faint">{row.key}</code>' in html
        assert (f'aria-label="Notify: {row.means}"' in html) == bool(row.says)
    assert html.count('aria-checked="true"') == 3
    assert html.count('aria-checked="false"') == 1
    assert 'value="/p/acme/attention#notifications"' in html


def test_the_service_worker_is_served_at_the_root_without_caching(client, db):
    response = client.get("/worker.js")
    assert response["Content-Type"].startswith("text/javascript")
    assert response["Cache-Control"] == "no-cache"
    assert b"notificationclick" in response.content


def test_pages_of_signed_in_users_load_the_lifecycle_script(client, reader, project):
    assert b"js/notifications/leader_tab" in client.get("/p/acme/settings").content
    client.logout()
    assert b"js/notifications/leader_tab" not in client.get("/signin").content

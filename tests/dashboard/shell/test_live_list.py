"""The list of live sessions in the navigation."""

import json

import pytest
from django.urls import reverse

from dashboard.shell.live import LIVE_NOW
from dashboard.shell.queries import SHOWN, live_now
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import Project, Session
from tests.support.small_loop import Loop

pytestmark = pytest.mark.django_db


@pytest.fixture
def project():
    return Project.objects.create(slug="default", title="Default")


def feed(project, *events):
    lines = [json.dumps(event).encode() for event in events]
    assert ingest(Batch(project.pk, "agent", None, lines)).rejected == []


def titles(project):
    return [line.title for line in live_now([project.pk])[project.pk].lines]


def test_a_running_session_is_live_until_it_ends(project):
    loop = Loop()
    feed(project, loop.start(title="Tidy the shed"), loop.turn())
    assert titles(project) == ["Tidy the shed"]
    feed(project, loop.end())
    assert titles(project) == []


def test_waiting_sessions_are_listed_first(project):
    waits, runs = Loop(), Loop()
    feed(project, waits.start(title="Waits"), waits.tool("t1", command="rm"), waits.approval("t1", "rm"))
    feed(project, runs.start(title="Runs"))
    assert titles(project) == ["Waits", "Runs"]
    assert [line.state for line in live_now([project.pk])[project.pk].lines] == ["waiting", "running"]


def test_an_answered_session_is_not_waiting(project):
    loop = Loop()
    asks = [
        {**loop.approval(call, command), "approval_id": call} for call, command in (("a", "ls"), ("b", "rm"))
    ]
    answers = [{**asks[0], "type": "ApprovalResolved", "approval_id": call} for call in ("a", "b")]

    def activity(*events):
        feed(project, *events)
        return live_now([project.pk])[project.pk].lines[0].activity

    assert activity(loop.start(), loop.turn(), *asks) == "Waiting for approval rm"
    assert activity({**answers[1], "decision": "granted"}) == "Waiting for approval ls"
    assert activity({**answers[0], "decision": "denied"}) == "Denied ls"
    assert activity(loop.approval("t1", "pwd")) == "Waiting for approval pwd"
    assert activity(loop.tool_end("t1", "not allowed")) == "Denied pwd"


def test_more_than_fit_are_counted(project):
    feed(project, *[Loop().start() for _ in range(SHOWN + 3)])
    shown = live_now([project.pk])[project.pk]
    assert (len(shown.lines), shown.more) == (SHOWN, 3)


def test_the_list_leads_to_each_session(project):
    feed(project, Loop().start(title="<b>Bold</b>"))
    html = LIVE_NOW.draw([project.pk])[project.pk]
    assert reverse("session", args=["default", Session.objects.get().pk]) in html
    assert "&lt;b&gt;Bold&lt;/b&gt;" in html


def test_without_live_sessions_the_list_shows_that(project):
    assert "No running sessions" in LIVE_NOW.draw([project.pk])[project.pk]


def test_the_number_of_queries_does_not_grow(project, django_assert_num_queries):
    other = Project.objects.create(slug="other", title="Other")
    feed(project, *[Loop().start() for _ in range(50)])
    feed(other, *[Loop().start() for _ in range(5)])
    with django_assert_num_queries(2):
        shown = live_now([project.pk, other.pk])
    assert [shown[project.pk].more, shown[other.pk].more] == [50 - SHOWN, 0]

"""The integrity page: rejected lines, orphan events, inconsistencies."""

import json

import pytest
from django.contrib.auth.models import User

from recorder.ingest.pipeline import Batch, ingest
from recorder.models import Project
from tests.support import build


@pytest.fixture
def project(db):
    return Project.objects.create(slug="default")


@pytest.fixture
def feed(project):
    def feed(*events, into=project):
        lines = [event if isinstance(event, bytes) else json.dumps(event).encode() for event in events]
        ingest(Batch(project=into.pk, producer="agent", first=None, lines=lines))

    return feed


@pytest.fixture
def see(client, project):
    user = User.objects.create_user("reader")
    project.memberships.create(user=user)
    client.force_login(user)

    def see(query=""):
        answer = client.get(f"/p/default/integrity{query}")
        assert answer.status_code == 200
        return answer.content.decode()

    return see


def test_a_project_without_problems_shows_that(feed, see):
    feed(*build.small_loop())

    assert "No problems." in see()


def test_a_rejected_line_is_shown_as_text_with_its_reason(feed, see):
    feed(b'{"type":"<script>alert(1)</script>', b"\xff\x00\x1b[31m")

    page = see()

    assert "bad_json" in page
    assert "bad_utf8" in page
    assert "&lt;script&gt;" in page
    assert "\\xff\\x00\\x1b[31m" in page
    assert "<script>alert" not in page


def test_an_orphan_event_is_listed_until_its_loop_starts(feed, see):
    feed(build.turn_start("never.started.1"))
    assert "never.started.1" in see()

    feed(build.agent_start("never.started.1"))
    assert "Orphan events</h2>" not in see()


def test_each_list_has_pages(feed, see):
    feed(*(b"{%d" % n for n in range(60)))

    first = see()
    older = first.partition('href="?refused=')[2].partition("#")[0]

    assert first.count('id="refused-') == 50
    assert see(f"?refused={older}").count('id="refused-') == 10


def test_other_projects_are_not_shown(feed, see):
    feed(b"{", build.turn_start("other.1"), into=Project.objects.create(slug="other"))

    assert "No problems." in see()


def test_fifty_lines_take_as_many_queries_as_one(feed, see, client, django_assert_max_num_queries):
    feed(*(b"{%d" % n for n in range(50)), *(build.turn_start(f"orphan{n}.1") for n in range(50)))

    with django_assert_max_num_queries(16):
        see()

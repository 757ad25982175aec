"""`GET /metrics`: authentication, the Prometheus format, the counters."""

import re

import pytest
from django.contrib.auth.models import User

from recorder.access import tokens
from recorder.ingest.metrics import SECONDS, Histogram
from recorder.models import Membership, Project
from tests.support.build import agent_start, line
from tests.support.endpoint_clients import post

LINE = re.compile(r'[a-z_]+(\{le="[^"]+"\})? -?[0-9.e+-]+')


@pytest.fixture
def project(transactional_db):
    return Project.objects.create(slug="default")


def bearer(project, scope):
    return {"authorization": f"Bearer {tokens.issue(project, scope, [scope])}", "host": "127.0.0.1"}


def figures(answer):
    assert answer.status_code == 200
    lines = [each for each in answer.content.decode().splitlines() if not each.startswith("#")]
    assert all(LINE.fullmatch(each) for each in lines)
    return {name: float(value) for name, value in (each.rsplit(" ", 1) for each in lines)}


def test_metrics_need_authentication(client, project):
    answer = client.get("/metrics", headers={"host": "127.0.0.1"})

    assert answer.status_code == 401
    assert b"loopscope_" not in answer.content


def test_a_token_with_scope_ingest_only_is_forbidden(client, project):
    answer = client.get("/metrics", headers=bearer(project, "ingest"))

    assert (answer.status_code, answer["Content-Type"]) == (403, "text/plain")


def test_metrics_are_read_only(client, project):
    assert client.post("/metrics", headers=bearer(project, "read")).status_code == 405


def test_a_signed_in_member_may_read_metrics(client, project):
    user = User.objects.create_user("reader")
    Membership.objects.create(user=user, project=project, role="viewer")
    client.force_login(user)

    assert "loopscope_viewers" in figures(client.get("/metrics", headers={"host": "127.0.0.1"}))


def test_accepted_rejected_and_duplicate_lines_are_counted(client, project):
    reads, sends = bearer(project, "read"), tokens.issue(project, "sender", ["ingest"])
    before = figures(client.get("/metrics", headers=reads))
    body = line(agent_start("s.a.1")) + b"\n{"
    for _ in range(2):
        post(body, sends, x_producer="p", x_first_seq=0)
    after = figures(client.get("/metrics", headers=reads))

    growth = {name: after[name] - before[name] for name in after}
    assert growth["loopscope_events_accepted_total"] == 1
    assert growth["loopscope_events_rejected_total"] == 1
    assert growth["loopscope_events_duplicate_total"] == 2
    assert growth["loopscope_commit_seconds_count"] == 2
    assert growth["loopscope_commit_seconds_sum"] > 0
    assert after["loopscope_queue_bytes"] == after["loopscope_oldest_unacknowledged_seconds"] == 0


def test_a_duration_counts_in_every_bucket_at_or_above_it():
    histogram = Histogram("h", "of a test")
    for seconds in (0.0, 0.01, 0.011, 60.0):
        histogram.note(seconds)
    counts = [int(each.rsplit(" ", 1)[1]) for each in histogram.lines() if "_bucket" in each]

    assert len(counts) == len(SECONDS) + 1
    assert counts[SECONDS.index(0.01)] == 2
    assert counts[SECONDS.index(0.025)] == counts[-2] == 3
    assert counts[-1] == 4

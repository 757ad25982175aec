"""`/healthz` and `/readyz`: their answers, and that a request without a token causes no write."""

from threading import Event, Thread
from time import sleep

import pytest
from asgiref.sync import async_to_sync

from dashboard.server import health
from recorder.access import tokens
from recorder.database.errors import Busy
from recorder.ingest.commit import pipeline
from recorder.ingest.commit.writer import close, writer
from recorder.models import Project
from tests.support.build import agent_start, line
from tests.support.endpoint_clients import HOST, post, request
from tests.support.wait import LONGEST_S


@pytest.fixture
def token(transactional_db):
    yield tokens.issue(Project.objects.create(slug="default"), "agent", ["ingest"])
    close()


def ready(token):
    return request("/readyz", headers=[HOST, (b"authorization", f"Bearer {token}".encode())])


def test_health_and_readiness_are_reported(token):
    assert request("/healthz").status == 200
    assert ready(token).status == 200


def test_a_stranger_gets_the_last_check_and_causes_no_commit(token, monkeypatch):
    commits = []
    monkeypatch.setattr(health, "_last", None)
    monkeypatch.setattr(health, "COMMIT_S", 0.1)
    try_commit = writer().try_commit

    async def counted():
        commits.append(1)
        await try_commit()

    monkeypatch.setattr(writer(), "try_commit", counted)
    for given in (None, "lsk_x_y"):
        assert request("/readyz", headers=_headers(given)).json["status"] == "unknown"
    assert not commits

    assert ready(token).status == 200
    assert commits == [1]
    assert [request("/readyz").status for _ in range(20)] == [200] * 20
    assert commits == [1]

    monkeypatch.setattr(health, "STALE_S", 0.0)
    assert request("/readyz").status == 503


def test_the_server_checks_itself_and_reports_the_result_to_strangers(token, monkeypatch):
    async def refuse():
        raise Busy("disk_full")

    monkeypatch.setattr(writer(), "try_commit", refuse)
    async_to_sync(health.try_commit)()

    assert (request("/readyz").status, request("/readyz").json["status"]) == (503, "disk_full")


def _headers(bearer):
    return [HOST] if bearer is None else [HOST, (b"authorization", f"Bearer {bearer}".encode())]


def test_readiness_is_refused_while_an_event_waits_too_long(token, monkeypatch):
    may_go_on, is_at_it = Event(), Event()

    class Stuck(pipeline.Recorder):
        def feed(self, *lines):
            is_at_it.set()
            assert may_go_on.wait(LONGEST_S)
            return super().feed(*lines)

    monkeypatch.setattr(pipeline, "Recorder", Stuck)
    monkeypatch.setattr(health, "OLDEST_S", 0.05)
    answers = []
    sender = Thread(target=lambda: answers.append(post(line(agent_start("s.a.1")), token)))
    sender.start()
    assert is_at_it.wait(LONGEST_S)
    sleep(0.1)  # until it has waited longer than OLDEST_S

    refused = request("/readyz")
    assert (refused.status, refused.json["status"]) == (503, "stuck")
    assert request("/healthz").status == 200

    may_go_on.set()
    sender.join()
    assert answers[0].status == 200
    assert ready(token).status == 200

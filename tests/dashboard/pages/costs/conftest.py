"""Fixtures: a project with usage at nine o'clock, and a reader whose clock is at ten."""

import json
from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import Membership, Project
from tests.support import build

TEN = build.NINE + timedelta(hours=1)


@pytest.fixture
def project(db):
    return Project.objects.create(slug="default")


@pytest.fixture
def feed(project):
    def feed(*events, into=project, producer="agent"):
        lines = [event if isinstance(event, bytes) else json.dumps(event).encode() for event in events]
        receipt = ingest(Batch(project=into.pk, producer=producer, first=None, lines=lines))
        assert receipt.rejected == []

    return feed


@pytest.fixture
def now(monkeypatch):
    """Fix the clock at ten."""
    monkeypatch.setattr("django.utils.timezone.now", lambda: TEN)
    return TEN


@pytest.fixture
def user(project):
    user = User.objects.create_user("reader")
    Membership.objects.create(project=project, user=user, role=Membership.Role.ADMIN)
    return user


@pytest.fixture
def see(client, user, now):
    client.force_login(user)

    def see(query="", path="/p/default/costs"):
        answer = client.get(f"{path}{query}")
        assert answer.status_code == 200
        return b"".join(answer).decode()

    return see


def config(model="claude-haiku-4-5", provider="anthropic", api="anthropic_messages", **more):
    return {"model": model, "provider": provider, "api": api, "config_id": model, **more}


def loop(name="s.a.1", *, tokens=1_000, output=0, at=0, end=9, **more):
    """Return a loop of one turn; `more` goes into its start."""
    snapshot = more.pop("snapshot", config())
    answer = build.assistant(model=snapshot["model"], provider=snapshot["provider"])
    used = {"input": tokens, "output": output}
    return [
        build.agent_start(name, at=at, config_snapshot=snapshot, **more),
        build.turn_start(name, at=at),
        build.turn_end(name, at=end - 1, message={**answer, "usage": used}, usage=used),
        build.agent_end(name, at=end, usage=used),
    ]

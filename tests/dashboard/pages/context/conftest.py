"""Fixtures: sessions of three agents with known ledgers, and a reader whose clock is at ten."""

import json

import pytest
from django.contrib.auth.models import User

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.ledger import follower
from recorder.models import Membership, Project
from tests.dashboard.pages.costs.conftest import TEN
from tests.recorder.ledger import carried_file

HOSTILE = '"><script>alert(1)</script>'


@pytest.fixture
def project(db):
    return Project.objects.create(slug="default")


@pytest.fixture
def feed(project):
    """Record events and make their ledger."""

    def feed(*events, into=project, producer="agent"):
        lines = [json.dumps(event).encode() for event in events]
        receipt = ingest(Batch(project=into.pk, producer=producer, first=None, lines=lines))
        assert receipt.rejected == []
        follower.run_all()

    return feed


@pytest.fixture
def now(monkeypatch):
    """Fix the clock at ten."""
    monkeypatch.setattr("django.utils.timezone.now", lambda: TEN)
    return TEN


@pytest.fixture
def see(client, project, now):
    user = User.objects.create_user("reader")
    Membership.objects.create(project=project, user=user, role=Membership.Role.ADMIN)
    client.force_login(user)

    def see(query="", path="/p/default/context"):
        answer = client.get(f"{path}{query}")
        assert answer.status_code == 200
        return b"".join(answer).decode()

    return see


def carried(loop=carried_file.LOOP, *, agent="agent-a", version="", tools=(), model=""):
    """Return the session of `carried_file` under other names; `tools` are defined in each request."""
    text = json.dumps(carried_file.events()).replace(carried_file.LOOP, loop)
    events = json.loads(text.replace(carried_file.CONFIG["model"], model) if model else text)
    for event in events:
        if event["type"] == "AgentStart":
            event.update({"agent_id": agent, "session_id": loop.split(".")[0]})
            event.update({"metadata": {"version": version}} if version else {})
        if event["type"] == "TurnRequest" and tools:
            event["payload"]["tools"] = [definition(name) for name in tools]
    return events


def definition(name):
    return {"name": name, "description": "Does it. " * 20, "parameters": {"type": "object"}}

"""The integrity page of a signed-in user; events are sent through the real ingest."""

import json

import pytest
from django.contrib.auth.models import User

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import Project


@pytest.fixture
def project(db):
    return Project.objects.create(slug="default")


@pytest.fixture
def feed(project):
    def feed(*events, into=project, producer="agent", **fields):
        lines = [event if isinstance(event, bytes) else json.dumps(event).encode() for event in events]
        ingest(Batch(project=into.pk, producer=producer, first=None, lines=lines, **fields))

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

"""A project with a user who opens its attention page."""

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
    def feed(*events, into=project, producer="agent", form="native", flush=False):
        lines = [json.dumps(event).encode() for event in events]
        assert ingest(Batch(into.pk, producer, None, lines, form, flush=flush)).rejected == []

    return feed


@pytest.fixture
def reader(project):
    user = User.objects.create_user("reader")
    project.memberships.create(user=user)
    return user


@pytest.fixture
def see(client, reader):
    client.force_login(reader)

    def see(query="", page="attention"):
        answer = client.get(f"/p/default/{page}{query}")
        assert answer.status_code == 200
        return answer.content.decode()

    return see

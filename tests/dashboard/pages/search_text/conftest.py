"""A project whose recorded texts are indexed, and its reader."""

import json

import pytest
from django.contrib.auth.models import User

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import Project
from recorder.search import indexer


@pytest.fixture
def project(transactional_db):
    return Project.objects.create(slug="default")


@pytest.fixture
def reader(client, project):
    user = User.objects.create_user("reader")
    project.memberships.create(user=user)
    client.force_login(user)
    return user


@pytest.fixture
def record():
    """Return a function that records events in a project, and indexes them."""

    def record(project, *events):
        lines = [json.dumps(event).encode() for event in events]
        assert ingest(Batch(project=project.pk, producer=None, first=None, lines=lines)).rejected == []
        indexer.run_all()

    return record


@pytest.fixture
def search(client, reader):
    """Return a function that searches in the project and returns the page."""

    def search(q="", path="search", **params):
        answer = client.get(f"/p/default/{path}", {"q": q, **params})
        assert answer.status_code == 200
        return answer.content.decode()

    return search

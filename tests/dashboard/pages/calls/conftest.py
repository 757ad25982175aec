"""A project that records events, and a reader who opens its pages."""

import pytest
from django.contrib.auth.models import User

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import Project
from tests.support import build


@pytest.fixture
def project():
    return Project.objects.create(slug="default")


@pytest.fixture
def feed(project):
    def feed(*events, into=project):
        lines = [build.line(event) for event in events]
        assert ingest(Batch(into.pk, None, None, lines, "native")).rejected == []

    return feed


@pytest.fixture
def see(client, project):
    user = User.objects.create_user("reader")
    project.memberships.create(user=user, role="viewer")
    client.force_login(user)

    def see(path):
        answer = client.get(path)
        assert answer.status_code == 200, path
        return answer.content.decode()

    return see

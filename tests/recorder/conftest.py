"""Fixtures of the recorder's tests: a project, a token, its invalidations."""

import pytest

from recorder.access import tokens
from recorder.models import Project
from recorder.pubsub.invalidation import subscribe, unsubscribe


@pytest.fixture
def project(transactional_db):
    return Project.objects.create(slug="default")


@pytest.fixture
def token(project):
    return tokens.issue(project, "tests", ["ingest"])


@pytest.fixture
def invalidations():
    """Collect the invalidations that are published from now on."""
    heard = []
    subscribe(heard.append)
    yield heard
    unsubscribe(heard.append)

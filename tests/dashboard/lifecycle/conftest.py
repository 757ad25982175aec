"""Fixtures of the lifecycle tests: a project and a token with scope read."""

import pytest

from recorder.access import tokens
from recorder.models import Project


@pytest.fixture
def project(transactional_db):
    return Project.objects.create(slug="default")


@pytest.fixture
def token(project):
    return tokens.issue(project, "reader", ["read"])

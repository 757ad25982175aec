"""What tests of the channel have: a project, and a token of somebody who may read it."""

import pytest

from recorder.access import tokens
from recorder.models import Project


@pytest.fixture
def project(transactional_db):
    return Project.objects.create(slug="default")


@pytest.fixture
def token(project):
    return tokens.issue(project, "reader", ["read"])

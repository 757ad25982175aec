"""What tests of the doors have: a project, a token, and a writer that is gone afterwards."""

import pytest

from recorder import tokens, writer
from recorder.models import Project


@pytest.fixture
def project(transactional_db):
    yield Project.objects.create(slug="default")
    writer.close()


@pytest.fixture
def token(project):
    return tokens.issue(project, "tests", ["ingest"])

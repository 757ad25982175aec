"""Evaluations as a signed-in reader sees them; events go in through the real ingest."""

import pytest

from recorder.models import ParallelGroupRecord
from tests.dashboard.loops.conftest import feed, project, reader, see

__all__ = ["feed", "project", "reader", "see"]


@pytest.fixture
def evaluation(see):
    """Open the page of the last evaluation."""

    def evaluation(query=""):
        pk = ParallelGroupRecord.objects.latest("pk").pk
        return see(f"/p/default/evaluations/{pk}{query}")

    return evaluation

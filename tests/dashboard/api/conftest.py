"""A project for API tests: events go in through the real ingest, responses come from the real API."""

import json
from pathlib import Path

import pytest

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import Project

TAPES = Path(__file__).parents[2] / "tapes" / "phi-core"


@pytest.fixture
def project(db):
    return Project.objects.create(slug="default")


@pytest.fixture
def feed(project):
    """Record events, or the lines of a scenario, as one producer's."""

    def feed(*events, scenario="", into=project, **fields):
        lines = [json.dumps(event).encode() for event in events]
        if scenario:
            lines = (TAPES / f"{scenario}.events.jsonl").read_bytes().splitlines()
        receipt = ingest(Batch(project=into.pk, producer=None, first=None, lines=lines, **fields))
        assert fields.get("refused") or receipt.rejected == []
        return receipt

    return feed

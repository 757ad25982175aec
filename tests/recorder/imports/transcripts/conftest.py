"""Records hand-made transcripts in several ways, which all give the same."""

import json
from itertools import count

import pytest

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import LoopRecord, Project
from recorder.projection.rebuild import rebuild
from tests.recorder.journal.spans import captures

NUMBERS = count(1)


@pytest.fixture
def record():
    """Return a function that records streams; line by line gives the same as at once, and as rebuilt."""

    def recorded(form, *streams):
        project = Project.objects.create(slug=f"p{next(NUMBERS)}")
        for number, lines in enumerate(streams):
            send(project, form, str(number), [lines])
        wanted = captures.shape(project)
        single = Project.objects.create(slug=f"p{next(NUMBERS)}")
        for number, lines in reversed([*enumerate(streams)]):
            send(single, form, str(number), [[line] for line in lines])
        assert [*captures.differences(captures.shape(single), wanted)] == []
        rebuild(single)
        assert [*captures.differences(captures.shape(single), wanted)] == []
        return LoopRecord.objects.filter(session__project=project).order_by("started_at", "id")

    return recorded


def begin(project, form, lines, name="begun"):
    """Send lines of a stream that goes on."""
    ingest(Batch(project.pk, name, 0, [json.dumps(line).encode() for line in lines], form))


def send(project, form, name, batches):
    at = 0
    for batch in batches:
        ingest(Batch(project.pk, name, at, [json.dumps(line).encode() for line in batch], form))
        at += len(batch)
    ingest(Batch(project.pk, name, None, [], form, flush=True))

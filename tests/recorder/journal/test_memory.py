"""What a batch needs is freed when it is recorded: the garbage collector of a server runs rarely."""

import gc

import pytest

from recorder.core.sources import OTLP
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.ingest.otlp.endpoint import PRODUCER
from recorder.journal.append import Journal
from tests.recorder.journal.spans import captures
from tests.support import build, foreign_tapes

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def uncollected():
    """Run without the collector of cycles."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def batches(project):
    (capture,) = [name for name in captures.CAPTURES if name.endswith("pydantic-ai/01-plain-two-prompts")]
    for lines in captures.lines(capture):
        yield Batch(project.pk, PRODUCER, None, lines, OTLP)
    yield Batch(project.pk, "native", None, [build.line(event) for event in build.small_loop("s.a.1")])
    transcript = next((foreign_tapes.TAPES / "claude-code" / "task").glob("*.jsonl"))
    yield Batch(project.pk, "transcript", None, transcript.read_bytes().splitlines(), "claude-code")


def test_a_recorded_batch_is_freed_without_the_garbage_collector(project, uncollected):
    for batch in batches(project):
        assert not ingest(batch).rejected
        assert [each for each in gc.get_objects() if isinstance(each, Journal)] == []

"""Tapes of other runtimes, sent through ingest in any batching."""

from pathlib import Path

from recorder.ingest.commit.pipeline import Batch, ingest

TAPES = Path(__file__).parent.parent / "tapes"


def tape(path):
    """Return the lines of a tape: those that are not blank."""
    return [line for line in (TAPES / path).read_bytes().splitlines() if line.strip()]


def send(project, lines, form, *, cuts=(), producer="p", flush=False):
    """Send lines in batches that end at `cuts`, then the flush."""
    ends = [*sorted(set(cuts)), len(lines)]
    first = 0
    for end in ends:
        if end > first:
            ingest(Batch(project.pk, producer, first, lines[first:end], form))
            first = end
    if flush:
        ingest(Batch(project.pk, producer, None, [], form, flush=True))

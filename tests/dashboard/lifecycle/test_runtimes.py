"""What each runtime's tapes ring: a start and exactly one end for each root loop and group."""

import json
import sqlite3
from collections import Counter
from contextlib import closing, contextmanager

import pytest

from dashboard.lifecycle.events import Rings
from dashboard.lifecycle.openapi import LifecycleFrame
from recorder.models import Approval, LoopRecord, ParallelGroupRecord, Project
from recorder.pubsub import invalidation
from tests.support.foreign_tapes import TAPES, send, tape

pytestmark = pytest.mark.django_db(transaction=True)


def aidaemon():
    """Return the rows of the tape's store as lines."""
    with closing(sqlite3.connect(TAPES / "aidaemon" / "events.hand-made.db")) as base:
        base.row_factory = sqlite3.Row
        found = base.execute("SELECT * FROM events ORDER BY id").fetchall()
    return [json.dumps(dict(row)).encode() for row in found]


PHI_CORE = (
    "01-tools-two-prompts",
    "02-continue-rerun-branch",
    "03-parallel-judge",
    "04-parallel-twice-same-loop-ids",
    "05-sub-agents",
    "08-rejections-and-errors",
    "09-process-killed-in-tool",
    "10-user-cancel",
)
CAGENT = (
    "two-turns.reconstructed",
    "transfer-task.reconstructed",
    "all-event-types.hand-made",
    "exec-json-cut-by-error.hand-made",
)
STREAMS = [
    *(("native", f"phi-core/{name}.events.jsonl") for name in PHI_CORE),
    *(("cagent", f"cagent/{name}.events.jsonl") for name in CAGENT),
    ("aidaemon", ""),
    ("grida", "grida/lifecycle.hand-made.sse"),
]
ASKS = {"cagent/all-event-types.hand-made.events.jsonl", "", "grida/lifecycle.hand-made.sse"}


@contextmanager
def ringing():
    """Note what rings, as the feed of the channel does when it asks after each commit."""
    rings, frames, invalidations = Rings(), [], []
    rings.begin()

    def hear(touched):
        invalidations.append(touched)
        frames.extend(ring.frame for ring in rings.of([touched]))

    gathered = Rings()
    gathered.begin()
    invalidation.subscribe(hear)
    try:
        yield frames
    finally:
        invalidation.unsubscribe(hear)
    # Asked once for all of them, it rings the same.
    assert list(map(said, frames)) == [said(ring.frame) for ring in gathered.of(invalidations)]


def rung(form, lines, size):
    """Play lines into a project of their own, in batches; return it and what rang."""
    project = Project.objects.create(slug=f"of-{size}")
    with ringing() as frames:
        send(project, lines, form, cuts=range(size, len(lines), size), flush=True)
    return project, frames


def sessions(frames, kind):
    return Counter(each["session_id"] for each in frames if each["type"] == kind)


def of(project, records, **which):
    """Count records of a project by session."""
    found = records.objects.filter(session__project=project, **which)
    return Counter(found.values_list("session__session_id", flat=True))


@pytest.mark.parametrize(("form", "name"), STREAMS)
def test_a_runtime_rings_alike_in_any_batching(form, name):
    lines = tape(name) if name else aidaemon()
    project, frames = rung(form, lines, 1)

    roots = of(project, LoopRecord, role="normal", started_at__isnull=False)
    wanted = roots + of(project, ParallelGroupRecord, start_event__isnull=False)
    assert wanted
    assert sessions(frames, "turn-started") == sessions(frames, "turn-finished") == wanted
    assert sessions(frames, "approval-requested") == of(project, Approval)
    assert bool(sessions(frames, "approval-requested")) is (name in ASKS)
    for each in frames:  # as the API describes them
        LifecycleFrame.model_validate(each, strict=True)
    running = Counter()
    for each in frames:  # no end without its start, and nothing is asked after the end of what it blocks
        running[each["session_id"]] += {"turn-started": 1, "turn-finished": -1}.get(each["type"], 0)
        assert running[each["session_id"]] >= (each["type"] == "approval-requested")
    whole = rung(form, lines, len(lines))[1]
    assert list(map(said, whole)) == list(map(said, frames))


def said(frame):
    """Return a frame without what differs from project to project, and the time of what was cut off."""
    return {name: value for name, value in frame.items() if name not in ("url", "at")}

"""Lifecycle events of each runtime's tapes: one start and one end for each root loop and group."""

import json
import sqlite3
from collections import Counter
from contextlib import closing, contextmanager

import pytest

from dashboard.lifecycle.events import LifecycleReducer
from dashboard.lifecycle.openapi import LifecycleFrame
from recorder.models import Approval, LoopRecord, ParallelGroupRecord, Project
from recorder.pubsub import invalidation
from tests.support.foreign_tapes import TAPES, send, tape

pytestmark = pytest.mark.django_db(transaction=True)


def aidaemon():
    """Return the rows of the tape's database as lines."""
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
WITH_APPROVALS = {"cagent/all-event-types.hand-made.events.jsonl", "", "grida/lifecycle.hand-made.sse"}


@contextmanager
def recorded_frames():
    """Collect the frames of each commit, as the feed does."""
    reducer, frames, invalidations = LifecycleReducer(), [], []
    reducer.begin()

    def record(touched):
        invalidations.append(touched)
        frames.extend(event.frame for event in reducer.feed([touched]))

    batched = LifecycleReducer()
    batched.begin()
    invalidation.subscribe(record)
    try:
        yield frames
    finally:
        invalidation.unsubscribe(record)
    # All commits in one batch give the same events.
    assert list(map(without_url, frames)) == [
        without_url(event.frame) for event in batched.feed(invalidations)
    ]


def play(form, lines, size):
    """Play lines into a project of their own, in batches; return the project and the frames."""
    project = Project.objects.create(slug=f"of-{size}")
    with recorded_frames() as frames:
        send(project, lines, form, cuts=range(size, len(lines), size), flush=True)
    return project, frames


def sessions(frames, kind):
    return Counter(each["session_id"] for each in frames if each["type"] == kind)


def of(project, records, **which):
    """Count records of a project by session."""
    found = records.objects.filter(session__project=project, **which)
    return Counter(found.values_list("session__session_id", flat=True))


@pytest.mark.parametrize(("form", "name"), STREAMS)
def test_a_tape_gives_the_same_events_in_any_batching(form, name):
    lines = tape(name) if name else aidaemon()
    project, frames = play(form, lines, 1)

    roots = of(project, LoopRecord, role="normal", started_at__isnull=False)
    expected = roots + of(project, ParallelGroupRecord, start_event__isnull=False)
    assert expected
    assert sessions(frames, "turn-started") == sessions(frames, "turn-finished") == expected
    assert sessions(frames, "approval-requested") == of(project, Approval)
    assert bool(sessions(frames, "approval-requested")) is (name in WITH_APPROVALS)
    for each in frames:  # as the API describes them
        LifecycleFrame.model_validate(each, strict=True)
    running = Counter()
    for each in frames:  # no end without its start, and no approval request outside a turn
        running[each["session_id"]] += {"turn-started": 1, "turn-finished": -1}.get(each["type"], 0)
        assert running[each["session_id"]] >= (each["type"] == "approval-requested")
    whole = play(form, lines, len(lines))[1]
    assert list(map(without_url, whole)) == list(map(without_url, frames))


def without_url(frame):
    """Return a frame without its url and its time, which differ by project and by clock."""
    return {name: value for name, value in frame.items() if name not in ("url", "at")}

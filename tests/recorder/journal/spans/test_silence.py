"""A trace whose agent span never comes: its loop is aborted after silence, and continues with later spans."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import JournalEvent, LoopRecord, Project, Session
from recorder.operations.span_silence import mark_silent
from recorder.projection.rebuild import rebuild
from tests.recorder.journal.spans import captures

pytestmark = pytest.mark.django_db(transaction=True)

CAPTURE = "frameworks/pydantic-ai/02-tool"


def later(seconds):
    return datetime.now(UTC) + timedelta(seconds=seconds)


@pytest.fixture
def project():
    return Project.objects.create(slug="p")


def spans(capture):
    return [line for batch in captures.lines(capture) for line in batch]


def test_a_loop_without_an_agent_span_is_aborted_after_silence_and_continues(project, settings):
    *first, answer, last = spans(CAPTURE)
    captures.record(project, first)
    assert mark_silent(later(settings.LOOPSCOPE_SPAN_SILENCE_S - 60)) == 0
    assert LoopRecord.objects.get().status == "running"

    assert mark_silent(later(settings.LOOPSCOPE_SPAN_SILENCE_S + 60)) == 1
    loop = LoopRecord.objects.get()
    assert (loop.status, loop.outcome, loop.turns) == ("aborted", "aborted", 1)
    assert Session.objects.get().status == "aborted"
    assert mark_silent(later(settings.LOOPSCOPE_SPAN_SILENCE_S + 60)) == 0, "marked once"

    captures.record(project, [answer])
    captures.record(project, [last])
    loop = LoopRecord.objects.get()
    assert (loop.status, loop.outcome, loop.turns) == ("completed", "completed", 2)
    wanted = captures.shape(project)
    rebuild(project)
    assert [*captures.differences(captures.shape(project), wanted)] == []


def test_a_loop_whose_last_call_failed_has_failed_after_silence(project, settings):
    """smolagents never sends the span of a run that a provider's error ends."""
    captures.record(project, spans("frameworks/smolagents/05b-provider-fail"))
    assert LoopRecord.objects.get().outcome == ""

    assert mark_silent(later(settings.LOOPSCOPE_SPAN_SILENCE_S + 60)) == 1

    loop = LoopRecord.objects.get()
    assert (loop.outcome, loop.turns) == ("failed", 1)
    assert "scripted 400" in loop.error


def test_a_trace_that_is_complete_is_never_marked(project):
    captures.record(project, spans(CAPTURE))
    lines = JournalEvent.objects.count()
    assert mark_silent(later(10**6)) == 0
    assert JournalEvent.objects.count() == lines


def test_no_client_can_withdraw_a_loop(project):
    """The event is our own: on the wire it is one that changes no record."""
    captures.record(project, spans(CAPTURE))
    wanted = captures.shape(project)
    loop = LoopRecord.objects.get()
    event = {"type": "LoopWithdrawn", "loop_id": loop.loop_id, "session_id": loop.session.session_id}

    ingest(Batch(project.pk, "client", 0, [json.dumps({**event, "is_gone": True}).encode()]))

    assert [*captures.differences(captures.shape(project), wanted)] == []

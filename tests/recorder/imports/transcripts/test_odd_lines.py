"""Lines of transcripts that make no sense."""

import json

import pytest

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import Project, Session, Turn

pytestmark = pytest.mark.django_db(transaction=True)
SESSION = "5ebec007-f000-40ef-a925-970291de85fe"


@pytest.mark.parametrize("form", ["claude-code", "codex", "gemini-cli", "opencode", "pi"])
def test_lines_that_make_no_sense_are_stored_and_harm_nothing(form):
    odd = [{}, {"type": []}, {"type": "message", "message": 1}, {"type": "user", "sessionId": SESSION}]
    odd += [{"type": "assistant", "sessionId": SESSION, "message": {"content": [{"type": "tool_use"}]}}]
    odd += [
        {"type": "response_item", "payload": {"type": "function_call"}},
        {"type": "gemini", "toolCalls": [{}]},
    ]
    odd += [{"type": "opencode.message", "message": {"role": "assistant"}, "parts": [{"type": "tool"}]}]
    at = "2026-11-02T09:00:00Z"
    odd += [{"type": kind, "sessionId": SESSION, "timestamp": at} for kind in ({}, [{}])]
    odd += [
        {
            "type": "opencode.message",
            "message": {"role": "assistant"},
            "parts": [{"type": "tool", "callID": "c", "tool": {}, "state": {"status": "running"}}],
        }
    ]
    project = Project.objects.create(slug="odd")

    receipt = ingest(Batch(project.pk, "odd", 0, [json.dumps(line).encode() for line in odd], form))

    assert receipt.accepted + len(receipt.rejected) == len(odd)
    assert {rejected.code for rejected in receipt.rejected} <= {"missing_field", "wrong_type"}
    assert Session.objects.filter(project=project).count() <= 1
    assert Turn.objects.filter(loop__session__project=project).count() <= 2

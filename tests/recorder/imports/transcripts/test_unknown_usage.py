"""Answers without usage: their tokens and cost are unknown, and never nothing."""

import pytest

from tests.recorder.imports.transcripts.claude_code.test_sessions import Claude, text
from tests.recorder.imports.transcripts.gemini_cli.test_chats import GEMINI, gemini, gemini_user
from tests.recorder.imports.transcripts.test_codex import DONE, answered, codex, item
from tests.recorder.imports.transcripts.test_pi import SESSION, answer, message

pytestmark = pytest.mark.django_db(transaction=True)
NULL_COUNT = ("event_msg", {"type": "token_count", "info": None})


def claude(**usage):
    found = Claude()
    found.prompt("Go")
    about = {"id": "m1", "role": "assistant", "model": "claude-sonnet-4-5", "stop_reason": "end_turn"}
    found.line("assistant", message={**about, "content": [text("Done")], **usage})
    return found.lines


def opencode(**tokens):
    created = {"created": 1_795_361_251_000, "completed": 1_795_361_252_000}
    head = {"type": "opencode.session", "id": "ses_1", "root_id": "ses_1"}
    about = {
        "role": "assistant",
        "time": created,
        "modelID": "gpt-5",
        "providerID": "openai",
        "finish": "stop",
    }
    messages = [{"role": "user", "time": created}, {**about, "finish": "stop", **tokens}]
    return [head] + [
        {"type": "opencode.message", "id": f"msg_{at}", "message": each, "parts": [text("Go")]}
        for at, each in enumerate(messages)
    ]


@pytest.mark.parametrize(
    ("form", "lines"),
    [
        ("claude-code", claude()),
        ("claude-code", claude(usage=None)),
        ("codex", codex(item("message", role="user", content="Go"), answered(), DONE)),
        ("codex", codex(answered(), NULL_COUNT, DONE)),
        ("gemini-cli", [GEMINI, gemini_user(1, "Go"), gemini(2, content="Done", tokens=None)]),
        ("opencode", opencode()),
        ("opencode", opencode(tokens=None, cost=0)),
        ("pi", [SESSION, message(1, "user", "Go"), answer(2, "Done", usage=None)]),
    ],
)
def test_an_answer_without_usage_has_an_unknown_cost(record, form, lines):
    (loop,) = record(form, lines)

    (turn,) = loop.turn_records.all()
    assert (loop.outcome, turn.cost_nano, turn.unpriced, turn.uncached_tokens) == ("completed", None, 1, None)
    assert (loop.session.unpriced, loop.session.cost_nano) == (1, None)


def test_a_call_that_failed_without_usage_used_nothing(record):
    lines = claude()
    lines[-1] |= {"isApiErrorMessage": True}

    (loop,) = record("claude-code", lines)

    assert (loop.outcome, loop.unpriced, loop.session.unpriced) == ("failed", 0, 0)

"""Streams that are cut off between two lines: what a line says of a loop does not depend on that."""

import json
from datetime import UTC, datetime

import pytest

from recorder.core.formats.registry import READERS
from tests.recorder.imports.transcripts.gemini_cli.test_chats import GEMINI, gemini, gemini_call, gemini_user
from tests.recorder.imports.transcripts.gemini_cli.test_history import CONTEXT, SNAPSHOT, patch, written
from tests.recorder.imports.transcripts.test_pi import SESSION, USAGE, answer, entry, message

NOW = datetime(2026, 11, 30, tzinfo=UTC)
CALLED = [SESSION, message(1, "user", "Go"), answer(2, "", "toolUse", call="c1")]
RESULT = message(3, "toolResult", "ok", toolCallId="c1")
COMPACTED = entry(4, "compaction", summary="S", usage=USAGE)
GEMINI_CALLED = [GEMINI, gemini_user(1, "Go"), gemini(2, toolCalls=[gemini_call("c1", "ok")])]

RESUMED = [*GEMINI_CALLED, gemini(3, content="Done"), written(4, CONTEXT, "user")]


def read(form, lines, *, is_cut):
    """Return the prompts of each loop, and its outcome if it came to an end."""
    state, found = None, {}
    for number, line in enumerate(lines, 1):
        reader = READERS[form](json.loads(json.dumps(state)), "k", lambda _: 1)
        events = reader.read(line, NOW).events
        events += reader.end_of_stream(NOW) if is_cut or number == len(lines) else []
        state = reader.state
        for event in events:
            prompts, _ = found.setdefault(event["loop_id"], ([], ""))
            if event["type"] == "MessageEnd" and event["message"]["role"] == "user":
                prompts.append(event["message"]["content"][0]["text"])
            if event["type"] in ("AgentEnd", "LoopReopened"):
                found[event["loop_id"]] = (prompts, event.get("outcome", ""))
    return [*found.values()]


@pytest.mark.parametrize(
    ("form", "lines", "wanted"),
    [
        ("pi", [*CALLED, RESULT, COMPACTED], [(["Go"], "")]),
        ("pi", [*CALLED, RESULT, entry(4, "usage", usage=USAGE)], [(["Go"], "")]),
        ("pi", [*CALLED, RESULT, COMPACTED, message(5, "user", "Left")], [(["Go", "Left"], "")]),
        ("pi", [*CALLED, message(3, "user", "Left")], [(["Go"], "cancelled"), (["Left"], "")]),
        ("gemini-cli", [*GEMINI_CALLED, patch(3, written(3, SNAPSHOT, "user"))], [(["Go"], "")]),
        ("gemini-cli", [*RESUMED, gemini_user(5, "New")], [(["Go"], "completed"), (["New"], "")]),
        ("gemini-cli", [*RESUMED, gemini_user(5, "Go")], [(["Go"], "completed")]),
    ],
)
@pytest.mark.parametrize("is_cut", [False, True])
def test_a_loop_that_goes_on_is_not_ended_by_a_compaction_or_a_prompt(form, lines, wanted, is_cut):
    assert read(form, lines, is_cut=is_cut) == wanted

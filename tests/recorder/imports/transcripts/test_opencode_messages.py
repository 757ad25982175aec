"""Messages of OpenCode: answers of several steps, prompts for a sub-agent, dismissed questions; titles."""

import pytest

from recorder.models import LoopRecord, Session
from tests.recorder.imports.transcripts.opencode_store import Store
from tests.recorder.imports.transcripts.test_opencode import imported

pytestmark = pytest.mark.django_db(transaction=True)
HEAD = {"type": "opencode.session", "id": "ses_1", "root_id": "ses_1", "time_created": 1_795_361_251_000}
TOKENS = {"input": 100, "output": 10, "reasoning": 0, "cache": {"read": 0, "write": 0}}
ANSWER = {"role": "assistant", "finish": "stop", "cost": 0.5, "tokens": TOKENS}


def message(at, *parts, **about):
    created = HEAD["time_created"] + at * 1000
    times = {"created": created, **({"completed": created + 500} if about["role"] == "assistant" else {})}
    head = {"type": "opencode.message", "id": f"m{at}", "session_id": "ses_1"}
    return {**head, "message": {"time": times, **about}, "parts": list(parts)}


def prompt(at, words):
    return message(at, {"type": "text", "text": words}, role="user")


def tool(call, name="bash", **state):
    done = {"status": "completed", "input": {}, "output": "ok", "metadata": {}}
    return {"type": "tool", "callID": call, "tool": name, "state": done | state}


STEP, TEXT = {"type": "step-start"}, {"type": "text", "text": "Done"}


@pytest.mark.parametrize(
    ("parts", "outcome"),
    [
        ([STEP, tool("c1"), STEP, TEXT], "completed"),
        ([STEP, TEXT, STEP, tool("c1")], "aborted"),
        ([tool("c1"), TEXT], "aborted"),
    ],
)
def test_an_answer_of_several_steps_ends_as_its_last_step(record, parts, outcome):
    (loop,) = record("opencode", [HEAD, prompt(1, "Go"), message(2, *parts, **ANSWER)])

    assert (loop.turns, loop.tool_calls, loop.outcome) == (1, 1, outcome)


def test_a_command_for_a_sub_agent_is_the_prompt_of_its_loop(record):
    subtask = {"type": "subtask", "prompt": "Review it", "description": "review", "agent": "general"}
    after = {"type": "text", "text": "Summarize the task tool output above", "synthetic": True}
    lines = [HEAD, message(1, subtask, role="user"), message(2, tool("c1", "task"), **ANSWER)]

    (loop,) = record("opencode", [*lines, message(3, after, role="user"), message(4, TEXT, **ANSWER)])

    assert (loop.title, loop.turns, loop.outcome) == ("Review it", 2, "completed")


def test_a_question_that_is_dismissed_is_denied_and_no_error(record):
    error = {"status": "error", "output": None, "error": "Error: The user dismissed this question"}
    answer = message(2, tool("c1", "question", **error), **ANSWER)

    (loop,) = record("opencode", [HEAD, prompt(1, "Go"), answer, message(3, TEXT, **ANSWER)])

    assert (loop.errors, loop.outcome) == (0, "completed")
    assert [each.decision for each in loop.approvals.all()] == ["denied"]


@pytest.mark.parametrize("flush", [True, False])
def test_a_session_has_the_title_that_opencode_gives_it_later(tmp_path, flush):
    store = Store(tmp_path / "opencode.db")
    session, child = store.session("ses_1"), store.session("ses_2", parent="ses_1")
    store.name(session, "New session - 2026-11-22T10:00:00.000Z")
    store.name(child, "Look around (@explore subagent)")
    for each in (session, child):
        store.prompt(each, "Count the files")
        store.finish(store.answer(each, "Three"))
    imported(store, flush=flush)
    assert Session.objects.get().title == "Count the files"

    store.name(session, "Counting files")
    imported(store, flush=flush)
    store.prompt(session, "Again")
    store.finish(store.answer(session, "Three"))
    imported(store)

    assert Session.objects.get().title == "Counting files"
    assert imported(store).events == 0
    loops = LoopRecord.objects.order_by("started_at", "id")
    assert [(loop.turns, loop.outcome) for loop in loops] == [(1, "completed")] * 3
    store.db.close()

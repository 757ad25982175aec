"""What the program of Gemini CLI writes itself: history again, compactions, messages, titles."""

import pytest

from recorder.models import Anomaly, Compaction
from tests.recorder.imports.field_cases import cases
from tests.recorder.imports.transcripts.gemini_cli.test_chats import GEMINI, gemini, gemini_call, gemini_user

pytestmark = pytest.mark.django_db(transaction=True)
CONTEXT = "<session_context>\nThis is the Gemini CLI.</session_context>"
SNAPSHOT = "<state_snapshot>It greeted.</state_snapshot>"


def written(at, words, role="gemini", **part):
    """Return a message as the program writes it, without model and tokens."""
    about = {"id": f"s{at}", "timestamp": f"2026-11-22T15:00:{at:02}Z", "type": role}
    return about | {"content": [{"text": words, **part}]} | ({"tokens": None} if role == "gemini" else {})


def patch(at, *messages, **changes):
    found = {"messages": [*messages]} if messages else {}
    return {"$set": {**changes, **found, "lastUpdated": f"2026-11-22T15:00:{at:02}Z"}}


TWO = [
    GEMINI,
    patch(0, written(0, CONTEXT, "user")),
    gemini_user(1, "One"),
    gemini(2, content="I read", toolCalls=[gemini_call("c1", "a.txt")]),
    patch(2),
    gemini(3, content="Done"),
    patch(3),
    gemini_user(4, "Two"),
    gemini(5, content="Done, too"),
    patch(5),
]


@pytest.mark.parametrize("context", [f"{CONTEXT}\nOne", CONTEXT])
def test_history_that_is_written_again_with_masked_outputs_counts_nothing(record, context):
    again = [written(10, context, "user"), written(11, "I read"), patch(11)]
    again += [written(12, "Done"), patch(12), written(13, "Two", "user"), written(14, "Done, too"), patch(14)]
    rest = [patch(15, *[line for line in again if "id" in line]), gemini_user(20, "Three")]

    loops = record("gemini-cli", [*TWO, *again, *rest, gemini(21, content="Done again"), patch(21)])

    found = [(loop.title, loop.turns, loop.output_tokens, loop.outcome) for loop in loops]
    assert found == [
        (title, turns, 15 * turns, "completed") for title, turns in (("One", 2), ("Two", 1), ("Three", 1))
    ]
    assert not any(turn.cost_nano is None for loop in loops for turn in loop.turn_records.all())


def test_a_compaction_of_gemini_is_one_of_the_loop_before_it(record):
    kept = [written(10, CONTEXT, "user"), written(11, SNAPSHOT, "user"), written(12, "Got it.")]
    lines = [*TWO, patch(10, *kept), gemini_user(20, "Three"), patch(20)]
    masked = [patch(21, *kept, written(22, "Three", "user")), gemini(23, content="Done"), patch(23)]

    loops = record("gemini-cli", [*lines, *masked])

    assert [(loop.title, loop.turns, loop.outcome) for loop in loops] == [
        ("One", 2, "completed"),
        ("Two", 1, "completed"),
        ("Three", 1, "completed"),
    ]
    found = Compaction.objects.filter(loop__in=loops)
    assert [(each.loop.title, each.summary) for each in found] == [("Two", SNAPSHOT)]


def test_what_the_program_writes_to_the_model_begins_no_loop(record):
    editor = "Here is the user's editor context as a JSON object. This is for your information only."
    lines = [GEMINI, written(1, editor, "user"), gemini_user(2, "Look at it"), gemini(3, toolCalls=[])]
    lines += [written(4, "Binary content received. Proceeding with analysis.", thought=True), patch(4)]
    lines += [gemini_user(5, "Please continue.") | {"displayContent": [{"text": "Look at it"}]}]
    lines += [gemini(6, content="A cat"), gemini_user(7, "System: Potential loop detected. Details: x")]
    lines += [gemini(8, content="A black cat"), patch(8)]
    lines += [written(9, "I ran the following shell command:\n```sh\nls\n```", "user"), patch(9)]
    lines += [written(10, "<hook_context>Be brief</hook_context>", "user"), patch(10)]
    lines += [gemini_user(11, "Please continue."), gemini(12, content="I do"), patch(12)]

    loops = record("gemini-cli", lines)

    assert [(loop.title, loop.turns, loop.outcome) for loop in loops] == [
        ("Look at it", 3, "completed"),
        ("Please continue.", 1, "completed"),
    ]
    prompts = cases.prompts(loops[0].session.project)
    assert prompts == {
        "Look at it": 1,
        "Please continue.": 2,
        "System: Potential loop detected. Details: x": 1,
    }
    assert not Anomaly.objects.exists()


@pytest.mark.parametrize("kind", ["main", "subagent"])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_summary_is_the_title_of_a_session_but_not_of_a_sub_agent(record, kind, is_first):
    head, summary = GEMINI | {"kind": kind}, "Counting files"
    lines = [*([head | {"summary": summary}] if is_first else [head]), *TWO[1:]]
    lines += [] if is_first else [patch(9, summary=summary)]

    first, *_ = record("gemini-cli", lines)

    assert first.session.title == (summary if kind == "main" else "One")

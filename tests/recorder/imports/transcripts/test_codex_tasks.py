"""Tasks of Codex: where they begin and end, which are copies or undone, and what usage counts."""

import pytest

from recorder.models import LoopRecord
from tests.recorder.imports.transcripts.conftest import begin
from tests.recorder.imports.transcripts.test_codex import (
    COMPACTED,
    DONE,
    answered,
    codex,
    counted,
    item,
    task,
    tokens,
)

pytestmark = pytest.mark.django_db(transaction=True)
ABORTED = ("event_msg", {"type": "turn_aborted", "reason": "interrupted"})
CALL = item("function_call", name="shell", arguments="{}", call_id="c1")
OUTPUT = item("function_call_output", call_id="c1", output="ok")


def asked(words):
    return item("message", role="user", content=[{"type": "input_text", "text": words}])


def told(words, **more):
    return ("event_msg", {"type": "user_message", "message": words, **more})


def unmarked(*payloads, **meta):
    """Return a rollout in which no line marks the start of a task."""
    head, _, *lines = codex(*payloads, **meta)
    return [head, *lines]


def summed(total):
    """Return a report with the sum of all calls alone."""
    return ("event_msg", {"type": "token_count", "info": {"total_token_usage": tokens(total)}})


def prompts(form, words):
    return {"item": [asked(words)], "event": [told(words)]}.get(form) or (
        [asked(words), told(words)] if form == "both" else [told(words), asked(words)]
    )


@pytest.mark.parametrize("form", ["item", "event", "both", "reversed"])
def test_without_marks_a_prompt_behind_an_answer_begins_a_task(record, form):
    one, two, three = (prompts(form, words) for words in ("One", "Two", "Three"))
    lines = unmarked(*one, CALL, OUTPUT, answered(), counted(1), *two, answered(), counted(2), *three, CALL)

    loops = record("codex", lines)

    found = [(loop.title, loop.turns, loop.outcome) for loop in loops]
    assert found == [("One", 2, "completed"), ("Two", 1, "completed"), ("Three", 1, "aborted")]
    assert sum(loop.output_tokens for loop in loops) == 20


def test_without_marks_of_their_start_tasks_end_as_the_rollout_says(record):
    error = ("event_msg", {"type": "task_complete", "error": {"message": "unexpected status 500"}})
    lines = unmarked(
        asked("One"), CALL, ABORTED, asked("Two"), error, asked("Three"), asked("More"), answered()
    )

    loops = record("codex", lines)

    found = [(loop.title, loop.outcome) for loop in loops]
    assert found == [("One", "cancelled"), ("Two", "failed"), ("Three", "completed")]


@pytest.mark.parametrize("marks", [True, False])
@pytest.mark.parametrize("has_origin", [True, False])
@pytest.mark.parametrize("copied_at", ["2026-11-22T15:09:59.100Z", "2026-11-22T15:00:05.000Z"])
@pytest.mark.parametrize("own_at", ["2026-11-22T15:09:59.200Z", "2026-11-22T15:10:05.000Z"])
def test_the_copied_history_of_a_fork_is_not_recorded_again(record, marks, has_origin, copied_at, own_at):
    """Its ids have no time. Its own task may begin at once, and the copies may keep their times."""
    rollout = codex if marks else unmarked
    start, done = ([task("t2")], [DONE]) if marks else ([], [])
    history = [
        asked("One"),
        answered(),
        counted(1),
        *done,
        *start,
        asked("Two"),
        answered(),
        counted(2),
        *done,
    ]
    fork = codex(*history, id="fork", session_id="fork", forked_from_id="thread")
    fork = [line for line in fork if marks or line["payload"].get("type") != "task_started"]
    for line in fork:
        line["timestamp"] = copied_at
    fork[0]["timestamp"] = fork[0]["payload"]["timestamp"] = "2026-11-22T15:09:58.000Z"
    if has_origin:
        fork.insert(1, fork[0] | {"timestamp": copied_at, "payload": {"id": "thread"}})
    own = [*([task("t3")] if marks else []), asked("Fork"), answered(), counted(3), *done]
    times = [own_at] * (2 if marks else 1) + [f"2026-11-22T15:10:{second}.000Z" for second in (10, 11, 12)]
    own = [
        {"timestamp": at, "type": kind, "payload": content}
        for at, (kind, content) in zip(times, own, strict=False)
    ]

    loops = record("codex", rollout(*history), [*fork, *own])

    assert [(loop.title, loop.turns, loop.output_tokens) for loop in loops] == [
        *(("One", 1, 10), ("Two", 1, 10), ("Fork", 1, 10)),
    ]
    assert loops[2].session.session_id == "fork"


@pytest.mark.parametrize("report", [counted, lambda total, _last=1: summed(total)])
@pytest.mark.parametrize("end", [DONE, ABORTED])
def test_a_report_counts_once_also_as_a_sum_and_behind_the_end_of_its_task(project, record, report, end):
    first = asked("One"), CALL, report(1), OUTPUT, answered(), end, report(3, 2), report(3, 2)
    second = asked("Two"), answered(), report(4), DONE, report(4), report(6, 2)
    lines = codex(*first, task("t2"), *second)
    begin(project, "codex", lines[: len(first) + 2])
    assert LoopRecord.objects.get().output_tokens == 30

    one, two = record("codex", lines)

    outputs = [[turn.output_tokens for turn in loop.turn_records.order_by("ordinal")] for loop in (one, two)]
    assert outputs == [[10, 20], [10, 20]]
    assert (one.outcome, two.outcome) == ("completed" if end is DONE else "cancelled", "completed")


def test_a_sum_alone_that_became_less_began_again_and_one_without_an_answer_is_no_call(record):
    lines = codex(
        summed(5), answered(), summed(6), CALL, OUTPUT, answered(), summed(2), COMPACTED, summed(3), DONE
    )

    (loop,) = record("codex", lines)

    assert [turn.output_tokens for turn in loop.turn_records.order_by("ordinal")] == [10, 0, 20, 10]


@pytest.mark.parametrize(
    ("content", "images"),
    [
        ([{"type": "input_image", "image_url": "data:image/png;base64,A"}], []),
        ([{"type": "input_text", "text": "<image name=[Image #1]>"}, {"type": "input_image"}], []),
        (None, ["data:image/png;base64,A"]),
    ],
)
@pytest.mark.parametrize("rollout", [codex, unmarked])
def test_a_prompt_that_is_only_an_image_is_a_prompt(record, content, images, rollout):
    line = told("", images=images) if images else item("message", role="user", content=content)

    (loop,) = record("codex", rollout(line, answered(), DONE))

    assert (loop.title, loop.turns, loop.outcome) == ("[image]", 1, "completed")


@pytest.mark.parametrize(("count", "above"), [(1, "One"), (2, None), (9, None)])
@pytest.mark.parametrize("marks", [True, False])
def test_the_task_behind_undone_ones_is_a_branch_of_the_one_before_them(record, marks, count, above):
    undo = ("event_msg", {"type": "thread_rolled_back", "num_turns": count})
    tasks = [
        [
            *([task(f"t{number}")] if marks and number > 1 else []),
            asked(words),
            answered(),
            *([DONE] if marks else []),
        ]
        for number, words in enumerate(("One", "Two", "Other", "More"), 1)
    ]
    lines = (codex if marks else unmarked)(*tasks[0], *tasks[1], undo, *tasks[2], *tasks[3])

    loops = record("codex", lines)

    plain = ("Initial", None)
    found = [(loop.continuation_kind, loop.continuation_tag) for loop in loops]
    assert found == [plain, plain, ("Branch", "undone"), plain]
    assert (loops[2].parent and loops[2].parent.title) == above


def test_a_session_of_another_agent_that_codex_imported_counts_nothing(record):
    imported = [task("external-import-turn-1"), asked("Old"), answered(), counted(5), DONE, asked("Imported")]
    lines = codex(*imported, task("t2"), asked("New"), answered(), counted(1), DONE)
    head, _, *rest = lines

    (loop,) = record("codex", [head, *rest])

    assert (loop.title, loop.turns, loop.output_tokens) == ("New", 1, 10)
    assert record("codex", [head, *rest[: len(imported)]]).count() == 0

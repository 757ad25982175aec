"""Files of Claude Code with two sessions in turn, failed calls with usage, commands and queued prompts."""

import pytest

from tests.recorder.imports.field_cases import cases
from tests.recorder.imports.transcripts.claude_code.test_sessions import Claude, text, use

pytestmark = pytest.mark.django_db(transaction=True)


def test_sessions_that_write_to_one_file_in_turn_have_their_own_answers(record):
    one, two = Claude(sessionId="one"), Claude(sessionId="two")
    two.seconds = 30
    for each, name in ((one, "One"), (two, "Two")):
        each.prompt(name)
        each.answer(f"{name}1", use(f"call {name}"), stop="tool_use")
        each.result(f"call {name}", "ok")
        each.answer(f"{name}2", text("Part"))
        each.answer(f"{name}2", text("Rest"))
    lines = [line for pair in zip(one.lines, two.lines, strict=True) for line in pair]

    loops = record("claude-code", lines)

    found = [
        (loop.session.session_id, loop.title, loop.turns, loop.tool_calls, loop.outcome) for loop in loops
    ]
    assert found == [("one", "One", 2, 1, "completed"), ("two", "Two", 2, 1, "completed")]


@pytest.mark.parametrize(
    ("model", "tokens"), [("claude-sonnet-4-5", (50, 7, 255_000)), ("<synthetic>", (0, 0, None))]
)
def test_a_failed_call_counts_the_usage_that_the_model_reports(record, model, tokens):
    claude = Claude()
    claude.prompt("Go")
    usage = {"input_tokens": 50, "output_tokens": 7}
    message = {"id": "e1", "model": model, "content": [text("API Error: 529")], "usage": usage}
    claude.line("assistant", message=message, isApiErrorMessage=True)

    (loop,) = record("claude-code", claude.lines)

    assert loop.outcome == "failed"
    assert (loop.input_tokens, loop.output_tokens, loop.cost_nano) == tokens


def test_a_shell_command_is_titled_as_it_was_typed(record):
    claude = Claude()
    claude.prompt("<bash-input>git status</bash-input>")
    claude.prompt("<bash-stdout>clean</bash-stdout><bash-stderr></bash-stderr>")
    claude.answer("m1", text("Nothing to commit"))

    (loop,) = record("claude-code", claude.lines)

    assert (loop.title, loop.turns) == ("! git status", 1)


@pytest.mark.parametrize("mode", [None, "prompt", "task-notification"])
def test_what_a_person_types_while_the_agent_works_joins_its_loop(record, mode):
    claude = Claude()
    claude.prompt("Go")
    claude.answer("m1", use("t1"), stop="tool_use")
    claude.result("t1", "ok")
    typed = {"type": "queued_command", "prompt": "And the tests", **({"commandMode": mode} if mode else {})}
    claude.line("attachment", attachment=typed)
    claude.answer("m2", text("Done"))
    fork = Claude(sessionId="fork")
    fork.lines = [line | {"sessionId": "fork"} for line in claude.lines]
    fork.seconds = claude.seconds
    fork.prompt("More")
    fork.answer("m3", text("Done"))

    first, second = record("claude-code", claude.lines, fork.lines)

    assert [(loop.title, loop.turns, loop.outcome) for loop in (first, second)] == [
        ("Go", 2, "completed"),
        ("More", 1, "completed"),
    ]
    own = {} if mode == "task-notification" else {"And the tests": 1}
    assert cases.prompts(first.session.project) == {"Go": 1, "More": 1, **own}


@pytest.mark.parametrize(
    ("words", "title"),
    [
        ("<ide_opened_file>a.py</ide_opened_file>\n<system-reminder>x</system-reminder>\nMend it", "Mend it"),
        ("<ide_opened_file>a.py</ide_opened_file>", "<ide_opened_file>a.py</ide_opened_file>"),
        ("<ide_selection>is not closed", "<ide_selection>is not closed"),
    ],
)
def test_a_prompt_is_titled_without_what_an_editor_added(record, words, title):
    claude = Claude()
    claude.prompt([text(part) for part in words.split("\n")])
    claude.answer("m1", text("Done"))

    (loop,) = record("claude-code", claude.lines)

    assert (loop.title, cases.prompts(loop.session.project)) == (title, {title: 1})

"""Solutions: steps between an error and the next try of the same call."""

from time import process_time

import pytest

from recorder.core.insights.solutions import error_line, normalize_error, solutions
from recorder.core.insights.tool_steps import Call


def call(start, tool, key="", state="done", answer="", subject=""):
    return Call(
        start,
        start + 1,
        tool,
        tool,
        subject,
        arguments_key=key or tool,
        state=state,
        error=error_line(answer),
    )


def test_a_solution_has_the_steps_before_the_retry_that_worked():
    (found,) = solutions(
        "coder",
        [
            call(1, "test", state="failed", answer="E  ValueError: bad line 12"),
            call(3, "read", key="x"),
            call(5, "read", key="y"),
            call(7, "edit"),
            call(9, "test"),
        ],
    )

    assert (found.about, found.statement, found.steps) == (
        "test",
        "E ValueError: bad line #",
        ("read", "edit"),
    )
    assert (found.times, found.worked, found.is_changed) == (1, 1, False)
    assert found.events == [2, 10]
    assert found.text == "E ValueError: bad line 12"


def test_a_retry_that_failed_is_counted():
    failed = {"state": "failed", "answer": "boom"}
    calls = [
        call(1, "test", **failed),
        call(3, "edit"),
        call(5, "test", **failed),
        call(7, "edit"),
        call(9, "test"),
    ]

    (found,) = solutions("coder", calls)

    assert (found.times, found.worked) == (2, 1)


def test_a_retry_with_other_arguments_is_marked():
    calls = [call(1, "edit", "a", "failed", "no such text", "x.py"), call(3, "edit", "b", subject="x.py")]

    (found,) = solutions("coder", calls)

    assert (found.steps, found.is_changed, found.worked) == ((), True, 1)


def test_calls_that_started_before_the_error_are_excluded():
    slow = Call(1, 8, "test", "test", arguments_key="t", state="failed", error="boom")
    beside = Call(2, 3, "test", "test", arguments_key="t")
    calls = [slow, beside, call(9, "edit"), call(11, "test", key="t")]

    (found,) = solutions("coder", calls)

    assert found.steps == ("edit",)


def test_an_error_without_a_retry_is_no_solution():
    assert solutions("coder", [call(1, "test", state="failed", answer="boom"), call(3, "edit")]) == []


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        ("", ""),
        ("\n ---- \n", ""),
        ("tracker: command not found", "tracker: command not found"),
        ("..F..  [100%]\n====\nE   ValueError: no header\n1 passed", "E ValueError: no header"),
        ("\x1b[31merror:\x1b[0m mismatched types\n --> src/a.rs:3", "error: mismatched types"),
        ("exit status 101", "exit status 101"),
        ("a\x00\ud800 failed", "a\ufffd\ufffd failed"),
    ],
)
def test_the_error_line_is_the_last_with_an_error_word(answer, line):
    assert error_line(answer) == line


def test_variable_parts_of_an_error_are_replaced():
    error = normalize_error("/home/ann/app/x.py:12: KeyError: 'user_17' at 0x7f3a commit 9f86d081 after 3.2s")

    assert error == "…/x.py:#: KeyError: … at # commit # after #.#s"


def cpu_s(answer):
    """Return the least CPU time that an answer took in some attempts."""
    times = []
    for _ in range(5):
        begun = process_time()
        normalize_error(error_line(answer))
        times.append(process_time() - begun)
    return min(times)


@pytest.mark.parametrize("part", ["/", "'", "a/", "\x1b[", "error "])
def test_an_answer_is_searched_in_linear_time_and_a_huge_one_only_at_its_ends(part):
    short, longest, huge = (cpu_s(part * (size // len(part))) for size in (10_000, 40_000, 2_000_000))

    assert longest < 10 * short  # four times as long: quadratic would be 16
    assert huge < 4 * longest  # 50 times as long

"""Procedures: sequences of different steps, counted without overlap."""

from datetime import timedelta

from recorder.core.insights.procedures import MOST, procedures
from recorder.core.insights.tool_steps import Call
from tests.support.build import NINE


def loop(words):
    """Return one call a second for each word; one that ends in `!` fails."""
    return [
        Call(
            10 + 2 * at,
            11 + 2 * at,
            word.rstrip("!"),
            word.rstrip("!"),
            state="failed" if word.endswith("!") else "done",
            started_at=NINE + timedelta(seconds=at),
            ended_at=NINE + timedelta(seconds=at, milliseconds=400),
        )
        for at, word in enumerate(words.split())
    ]


def counts(words):
    return {" ".join(each.steps): (each.times, each.worked) for each in procedures("a", loop(words))}


def test_each_sequence_of_two_to_five_steps_is_a_procedure():
    assert counts("read edit test") == {"read edit": (1, 1), "edit test": (1, 1), "read edit test": (1, 1)}
    assert max(len(each.steps) for each in procedures("a", loop("a b c d e f"))) == 5


def test_repetitions_are_counted_and_consecutive_calls_are_one_step():
    assert counts("read read edit test edit edit test")["edit test"] == (2, 2)


def test_a_procedure_worked_if_every_step_ended_well():
    assert counts("edit! edit test edit test!")["edit test"] == (2, 1)


def test_a_repeated_cycle_is_counted_as_its_shortest_round():
    found = counts("edit test edit test edit test")

    assert found["edit test"] == (3, 3)
    assert all(len(set(steps.split())) == len(steps.split()) for steps in found)


def test_the_duration_is_from_the_first_start_to_the_last_end():
    (found,) = procedures("a", loop("edit test"))

    assert found.durations == {1400: 1}
    assert (found.first_at, found.last_at) == (NINE, NINE + timedelta(seconds=1.4))
    assert found.events == [10]


def test_the_number_of_procedures_of_a_loop_is_limited():
    assert len(procedures("a", loop(" ".join(f"s{n}" for n in range(2000))))) == MOST


def test_a_loop_without_calls_has_no_procedures():
    assert procedures("a", []) == []
    assert procedures("a", loop("edit edit edit")) == []

"""Bare model calls are one loop if one was sent the result of the other: in one session, within an hour."""

import pytest

from tests.recorder.core.formats.otlp.build import OPENINFERENCE, call_message, llm, loops, result, span

DAY = 86_400
USER = {"role": "user", "content": "Weather?"}


def call(trace, start, session="", *, id="call_0", prompt="Weather?", arguments="{}", **about):
    """Return a model call that asks for a tool."""
    sent = llm([(id, "get_weather", arguments)], [{"role": "user", "content": prompt}])
    return _model(trace, start, session, sent, **about)


def answer(trace, start, session="", *, id="call_0", prompt="Weather?", arguments="{}", **about):
    """Return a model call that was sent the result of a tool, and what came before it."""
    before = [{"role": "user", "content": prompt}, call_message(id, arguments=arguments)]
    return _model(trace, start, session, llm([], [*before, result(id)]), **about)


def _model(trace, start, session, attributes, end=None, **about):
    attributes |= {"session.id": session} if session else {}
    attributes |= {"user.id": about.pop("user")} if "user" in about else {}
    at = (start, start + 1 if end is None else end)
    return span(
        1, None, "ChatCompletion", at, attributes, trace=trace, scope=f"{OPENINFERENCE}openai", **about
    )


def shape(lines):
    return sorted((loop["session"][:6], loop["turns"], len(loop["tools"])) for loop in loops(lines))


@pytest.mark.parametrize("call_id", ["call_0", "functions.get_weather:0"])
@pytest.mark.parametrize("later", [5, 3600, DAY])
def test_sessions_with_the_same_call_ids_stay_apart(call_id, later):
    lines = [
        call("0a", 0, "user-0", id=call_id, service="one"),
        answer("0b", 2, "user-0", id=call_id, service="one"),
        call("1a", later, "user-1", id=call_id, service="two"),
        answer("1b", later + 2, "user-1", id=call_id, service="two"),
    ]
    assert shape(lines) == [("user-0", 2, 1), ("user-1", 2, 1)]


def test_sessions_of_one_service_at_the_same_time_stay_apart():
    lines = [call("0a", 0, "s0"), call("1a", 0.5, "s1"), answer("0b", 2, "s0"), answer("1b", 2.2, "s1")]
    assert shape(lines) == [("s0", 2, 1), ("s1", 2, 1)]


@pytest.mark.parametrize("later", [60, DAY])
def test_runs_without_a_session_stay_apart(later):
    lines = [call("0a", 0), answer("0b", 2), call("1a", later), answer("1b", later + 2)]
    assert shape(lines) == [("0a0a0a", 2, 1), ("1a1a1a", 2, 1)]


def test_services_without_a_session_stay_apart():
    lines = [call("0a", 0, service="one"), answer("1b", 2, service="two")]
    assert [turns for _, turns, _ in shape(lines)] == [1, 1]


def test_prompts_of_one_session_with_the_same_call_ids_are_two_loops():
    lines = [call("0a", 0, "s"), answer("0b", 2, "s"), call("1a", 9, "s"), answer("1b", 11, "s")]
    assert shape(lines) == [("s", 2, 1), ("s", 2, 1)]


def test_a_result_that_comes_after_an_hour_belongs_to_no_call():
    assert [turns for _, turns, _ in shape([call("0a", 0), answer("0b", 3590)])] == [2]
    assert [turns for _, turns, _ in shape([call("0a", 0), answer("0b", 3700)])] == [1, 1]


def test_a_result_that_was_sent_before_the_call_belongs_to_another_one():
    assert [turns for _, turns, _ in shape([answer("0b", 0), call("0a", 2)])] == [1, 1]


def test_a_failed_call_and_its_repetition_have_the_same_results():
    lines = [call("0a", 0), answer("0b", 2, error="overloaded"), answer("0c", 4)]
    assert len(shape(lines)) == 1


def test_a_long_run_is_one_loop():
    ids = [f"call_{number % 2}" for number in range(7)]
    steps = [
        _model(
            f"1{number}",
            10 * number,
            "",
            llm(
                [(ids[number + 1], "get_weather", "{}")],
                [USER, call_message(ids[number]), result(ids[number])],
            ),
        )
        for number in range(6)
    ]
    assert shape([*steps, answer("99", 60, id=ids[6])]) == [("101010", 7, 6)]


def test_users_without_a_session_stay_apart():
    lines = [call("0a", 0, user="a"), call("1a", 0.5, user="b"), answer("0b", 2, user="a")]
    assert shape([*lines, answer("1b", 2.2, user="b")]) == [("0a0a0a", 2, 1), ("1a1a1a", 2, 1)]


def test_users_of_one_session_are_two_loops():
    lines = [call("0a", 0, "s", user="a"), answer("0b", 2, "s", user="b")]
    assert [turns for _, turns, _ in shape(lines)] == [1, 1]


@pytest.mark.parametrize("other", [{"prompt": "Rain?"}, {"arguments": '{"city": "Lima"}'}])
def test_calls_without_a_session_are_one_loop_only_if_they_share_their_history(other):
    assert [turns for _, turns, _ in shape([call("0a", 0), answer("0b", 2)])] == [2]
    assert [turns for _, turns, _ in shape([call("0a", 0), answer("0b", 2, **other)])] == [1, 1]

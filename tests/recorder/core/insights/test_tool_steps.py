"""Steps: kinds of tool calls, and which calls are retries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recorder.core.insights.tool_steps import Call, group_steps, step_of, subject_of


@pytest.mark.parametrize(
    ("arguments", "step"),
    [
        (None, "bash"),
        ("ls", "bash"),
        ({"path": "a.py"}, "bash"),
        ({"command": "pytest -q tests"}, "bash pytest"),
        ({"cmd": "/usr/bin/env python3 x.py"}, "bash env"),
        ({"command": "cd /srv/app && npm test"}, "bash npm test"),
        ({"command": "cd a; PYTHONPATH=. sudo go build ./..."}, "bash go build"),
        ({"command": "git -C x status"}, "bash git"),
        ({"command": "git commit -m 'x'"}, "bash git commit"),
        ({"command": "cat notes"}, "bash cat"),
        ({"command": "  \n ./run.sh"}, "bash run.sh"),
        ({"command": ""}, "bash"),
        ({"command": "|| &&"}, "bash"),
        ({"command": "bash run.sh"}, "bash"),
        ({"command": ["ls"]}, "bash"),
    ],
)
def test_a_command_is_labelled_by_its_program(arguments, step):
    assert step_of("bash", arguments) == step


@given(st.text(max_size=3000), st.recursive(st.none() | st.text(), lambda x: st.dictionaries(st.text(), x)))
def test_anything_has_a_short_step_and_subject(command, junk):
    for arguments in (junk, {"command": command, "path": command}):
        assert len(step_of("bash", arguments)) <= 60
        assert len(subject_of(arguments)) <= 300


@pytest.mark.parametrize("path", [".", "./", "/", "..", " "])
def test_dots_and_slashes_are_no_subject(path):
    assert subject_of({"path": path}) == ""
    assert subject_of({"path": f"{path}a"}) != ""


def call(start, tool="edit", **more):
    return Call(start, start + 1, tool, more.pop("step", tool), **more)


def test_a_retry_has_equal_arguments_or_the_same_subject():
    one = call(1, arguments_key="k", subject="a.py")

    assert one.retries(call(5, arguments_key="k"))
    assert one.retries(call(5, arguments_key="other", subject="a.py"))
    assert not one.retries(call(5, arguments_key="other", subject="b.py"))
    assert not one.retries(call(5, "read", arguments_key="k", subject="a.py"))
    assert not call(1).retries(call(5))


def test_consecutive_calls_of_a_kind_are_one_step_with_the_last_result():
    steps = list(group_steps([call(1, state="failed"), call(3), call(5, "bash"), call(7, state="cut")]))

    assert [(run.step, len(run.calls), run.is_done) for run in steps] == [
        ("edit", 2, True),
        ("bash", 1, True),
        ("edit", 1, False),
    ]

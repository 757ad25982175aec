"""Transitions between the statuses of a loop."""

from typing import get_args

import pytest

from recorder.core.handlers.lifecycle import TRANSITIONS, can_change
from recorder.core.records import Status


def test_every_status_is_in_the_transition_table():
    assert set(TRANSITIONS) == set(get_args(Status))


@pytest.mark.parametrize("status", ["completed", "rejected", "aborted"])
def test_an_ended_loop_has_no_transitions(status):
    assert not any(can_change(status, following) for following in get_args(Status))


def test_a_loop_runs_before_it_ends():
    assert can_change("pending", "running")
    assert not can_change("pending", "completed")
    assert all(can_change("running", end) for end in ("completed", "rejected", "aborted"))

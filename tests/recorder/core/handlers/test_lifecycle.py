"""Which status may follow which."""

from typing import get_args

import pytest

from recorder.core.handlers.lifecycle import NEXT, may
from recorder.core.records import Status


def test_every_status_has_its_line_in_the_table():
    assert set(NEXT) == set(get_args(Status))


@pytest.mark.parametrize("status", ["completed", "rejected", "aborted"])
def test_an_ended_loop_stays_as_it_ended(status):
    assert not any(may(status, following) for following in get_args(Status))


def test_a_loop_runs_before_it_ends():
    assert may("pending", "running")
    assert not may("pending", "completed")
    assert all(may("running", end) for end in ("completed", "rejected", "aborted"))

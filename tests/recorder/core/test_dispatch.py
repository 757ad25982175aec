"""Every event finds what it says: the recorder looks it up in a table, which no type checker goes through."""

from typing import get_args

from recorder.core.events import LoopEvent
from recorder.core.recorder import _RUNNING_LOOP_HANDLERS


def test_each_event_of_a_loop_says_something_of_it_while_it_runs():
    assert set(_RUNNING_LOOP_HANDLERS) == {model.type for model in get_args(LoopEvent)}

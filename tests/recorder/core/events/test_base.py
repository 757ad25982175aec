"""Events never change, and hold no more than what is known of them here."""

from dataclasses import FrozenInstanceError

import pytest

from recorder.core.events import AgentSwitched, Notice, Usage
from recorder.core.events.base import construct
from recorder.core.formats.native import parse
from tests.support import build


def test_an_event_never_changes():
    event = parse(build.line(build.turn_start()))

    with pytest.raises(FrozenInstanceError):
        event.loop_id = "another"
    assert event == parse(build.line(build.turn_start()))


def test_what_is_not_known_is_left_out():
    known = {"type": "Notice", "loop_id": "l", "kind": "warning"}

    assert parse(build.line({**known, "colour": "red"})) == parse(build.line(known))


def test_a_field_may_be_called_by_a_name_that_python_keeps_for_itself():
    line = {"type": "AgentSwitched", "loop_id": "l", "to": "b", "from": "a"}

    assert parse(build.line(line)) == AgentSwitched(loop_id="l", to="b", from_="a")


def test_what_is_made_unchecked_is_as_if_it_was_checked():
    assert construct(Usage, input=1, output=2) == Usage(input=1, output=2)
    assert construct(Notice, loop_id="l", kind="warning") == Notice(loop_id="l", kind="warning")
    assert construct(Usage, input=-1, output=0).input == -1

"""Events are immutable, ignore unknown fields, and may be constructed without validation."""

from dataclasses import FrozenInstanceError

import pytest

from recorder.core.events import AgentSwitched, Notice, Usage
from recorder.core.events.base import construct
from recorder.core.formats.native import parse
from tests.support import build


def test_an_event_is_immutable():
    event = parse(build.line(build.turn_start()))

    with pytest.raises(FrozenInstanceError):
        event.loop_id = "another"
    assert event == parse(build.line(build.turn_start()))


def test_unknown_fields_are_ignored():
    known = {"type": "Notice", "loop_id": "l", "kind": "warning"}

    assert parse(build.line({**known, "colour": "red"})) == parse(build.line(known))


def test_a_field_may_have_a_python_keyword_as_its_alias():
    line = {"type": "AgentSwitched", "loop_id": "l", "to": "b", "from": "a"}

    assert parse(build.line(line)) == AgentSwitched(loop_id="l", to="b", from_="a")


def test_a_constructed_event_equals_a_validated_one():
    assert construct(Usage, input=1, output=2) == Usage(input=1, output=2)
    assert construct(Notice, loop_id="l", kind="warning") == Notice(loop_id="l", kind="warning")
    assert construct(Usage, input=-1, output=0).input == -1

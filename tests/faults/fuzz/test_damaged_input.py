"""Some cases of the fuzz tool at each door, and what it says of a door that raises; `make fuzz` runs many."""

import pytest

from recorder.core.formats.transcripts.codex import CodexReader
from tests.faults.fuzz import damaged_input

CASES = 40


@pytest.mark.parametrize("door", damaged_input.DOORS)
def test_damaged_input_is_read_or_refused(door):
    found = {number: why for number in range(CASES) if (why := damaged_input.failure(door, number))}
    assert found == {}, f"again: python -m tests.faults.fuzz.damaged_input --door {door} --case NUMBER"


def test_a_door_that_raises_is_a_failure_with_its_place(monkeypatch):
    def broken(*_):
        raise KeyError("payload")

    monkeypatch.setattr(CodexReader, "read", broken)
    monkeypatch.setattr(damaged_input, "TRANSCRIPTS", ("codex",))
    found = {damaged_input.failure("transcript", number) for number in range(CASES)} - {""}
    assert len(found) == 1
    assert found.pop().startswith("KeyError: 'payload' (test_damaged_input.py:")


def test_an_event_that_is_none_is_a_failure():
    with pytest.raises(ValueError, match="a reader made a bad AgentStart"):
        damaged_input._check({"type": "AgentStart", "loop_id": 7})


# What it found, with the fault that it showed. A tape that changes makes another case of a number.
FOUND = [
    ("body", 54803),  # an agent without a visible name
    ("store", 1322),  # SQLite's message in bytes that are no text
    ("transcript", 1175),  # the type of a line is an object
    ("transcript", 57642),  # the session of a store with invisible characters
    ("transcript", 60025),  # a cost of 400 digits
]


@pytest.mark.parametrize(("door", "number"), FOUND)
def test_what_was_found_is_mended(door, number):
    assert damaged_input.failure(door, number) == ""

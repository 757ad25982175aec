"""Facts of the demo: the scripted answer for the messages of its tape."""

import json

import pytest

from recorder.core.insights.facts import Passage, parse_answer
from recorder.core.records import Json
from recorder.demo.scripted_facts import scripted_answer
from recorder.demo.tape import FOLDER, load

NAMES = [file.name.removesuffix(".facts.json") for file in FOLDER.glob("*.facts.json")]


def passages(name):
    """Return the messages of each loop of a tape, numbered as events are."""
    found: dict[Json, list[Passage]] = {}
    for number, cue in enumerate(load(name, stretched=False).cues):
        if cue.event["type"] == "MessageEnd":
            message = cue.event["message"]
            text = " ".join(part["text"] for part in message["content"] if part["type"] == "text")
            found.setdefault(cue.event["loop_id"], []).append(Passage(number, message["role"], text))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_each_fact_cites_messages_of_its_tape(name):
    scripted = json.loads((FOLDER / f"{name}.facts.json").read_text())
    found = set()
    for sent in passages(name).values():
        answer = scripted_answer(scripted["agent_id"], sent)
        checked = parse_answer(scripted["agent_id"], answer, sent) if answer else None
        if checked:
            assert checked.dropped == 0
            found |= {fact.statement for fact in checked.found}
    assert found == {fact["fact"] for fact in scripted["facts"]}


def test_loops_of_other_agents_and_other_messages_have_no_answer():
    (sent, *_) = passages(NAMES[0]).values()
    assert scripted_answer("somebody", sent) == ""
    assert scripted_answer("dependency-updater", [Passage(1, "user", "We use pnpm.")]) == ""

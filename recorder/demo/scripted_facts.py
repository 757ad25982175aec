"""Facts of the demo: a scripted answer, in the form in which a model answers, because the demo asks no model.

The answer names the messages that support a fact by quotes, because events have new ids in each play. It is
checked like the answer of a configured model: a fact counts only if it cites messages of its loop.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import TypedDict

from recorder.core.insights.facts import Passage
from recorder.demo.tape import FOLDER


class ScriptedFact(TypedDict):
    """One fact of the answer, and parts of the messages that support it."""

    fact: str
    quotes: list[str]


class ScriptedAnswer(TypedDict):
    """The facts of the loops of one agent."""

    agent_id: str
    facts: list[ScriptedFact]


def scripted_answer(agent_id: str, sent: Sequence[Passage]) -> str:
    """Return the scripted answer for the messages of a loop, as a model writes it; "" if there is none."""
    facts = [
        {"fact": fact["fact"], "events": events}
        for answer in _answers()
        if answer["agent_id"] == agent_id
        for fact in answer["facts"]
        if (events := _quoted(fact["quotes"], sent))
    ]
    return json.dumps({"facts": facts}) if facts else ""


def _quoted(quotes: Sequence[str], sent: Sequence[Passage]) -> list[int]:
    """Return the events that hold one of the quotes; none unless each quote is in a message."""
    found = [[passage.event for passage in sent if quote in passage.text] for quote in quotes]
    return sorted({event for events in found for event in events}) if all(found) else []


@cache
def _answers() -> Sequence[ScriptedAnswer]:
    return [json.loads(file.read_text(encoding="utf-8")) for file in sorted(FOLDER.glob("*.facts.json"))]

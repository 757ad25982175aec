"""How a question to a person is told: what an agent gave as warnings or answers may be anything."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import islice

from recorder.core.content.text import excerpt

COMMAND_MAX = 2_000
SAID_MAX, EACH_MAX = 8, 300  # warnings or options of one question, and characters of each
KINDS = {  # what stands in place of a command
    "elicitation": "A tool server asks for something",
    "limit": "Stopped at its limit: may it go on?",
}
UNSAID = "It did not say what it asks"


def instead(kind: str) -> str:
    """Return what stands in place of a command that was not told."""
    return KINDS.get(kind, UNSAID)


def said(value: object) -> Sequence[str]:
    """Return warnings or options as lines."""
    match value:
        case None | "":
            return ()
        case list():
            return [_word(each) for each in value[:SAID_MAX]]
        case dict():
            pairs = islice(value.items(), SAID_MAX)
            return [f"{excerpt(str(name), EACH_MAX)}: {_word(each)}" for name, each in pairs]
        case _:
            return [_word(value)]


def _word(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return excerpt(text, EACH_MAX)

"""What the recorder takes of a line's content. It may stand in its place: then the line need not be read.

An event that is told again carries one of these where its content was.
"""

from __future__ import annotations

from typing import NamedTuple

from recorder.core.content import messages
from recorder.core.content.fingerprints import arguments_key, text_key
from recorder.core.content.messages import Answer
from recorder.core.content.text import excerpt, one_line, strip_markdown
from recorder.core.records import Json


class Asked(NamedTuple):
    """Of a tool's arguments: one line, and what is the same for the same arguments."""

    line: str
    key: str


class Said(NamedTuple):
    """Of an answer: its head, one line, and what is the same for the same answer."""

    answer: Answer
    line: str
    key: str


class Ended(NamedTuple):
    """Of all that a loop said: what it says of itself at its end. Its title and config it had before."""

    activity: str


def asked(arguments: Json | Asked) -> Asked:
    """Take of a tool's arguments."""
    if isinstance(arguments, Asked):
        return arguments
    return Asked(one_line(arguments), arguments_key(arguments))


def said(message: Json | Said) -> Said | None:
    """Take of an answer; of another message there is nothing to take."""
    if isinstance(message, Said):
        return message
    answer = messages.answer_of(message)
    if answer is None:
        return None
    text = messages.text_of(message)
    return Said(answer, excerpt(strip_markdown(text), 200), text_key(text))

"""Tool calls as steps: what a call does, in the few words in which two calls are alike."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Literal

from recorder.core.content.text import clean
from recorder.core.records import Json

NAME = 60
SUBJECT = 300
_COMMANDS = ("command", "cmd")
_SUBJECTS = ("path", "file_path", "file", "filename", "url", "uri")
# What stands before the program that a command is about.
_BEFORE = re.compile(r"\s*(?:cd\s+[^&;|\s]+\s*(?:&&|;)|sudo\s|time\s|[A-Za-z_]\w*=[^\s]*\s)")
_WORD = re.compile(r"\s*(?:[^\s;&|<>]*/)?([\w.+-]+)(?:\s+([a-z][a-z-]+)(?=\s|$))?")
# Of these the second word says what is done.
_WITH_VERBS = frozenset(
    "apt bundle cargo docker gh git go helm kubectl make npm pip pnpm poetry terraform uv yarn".split()
)
_SCAN_LIMIT = 2_000  # characters of a command; it may be a whole script


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call of a loop that has ended. `start` and `end` are the events of its begin and end."""

    start: int
    end: int
    tool: str
    step: str  # what `step_of` says
    subject: str = ""
    arguments_key: str = ""
    state: Literal["done", "failed", "cut"] = "done"
    error: str = ""  # the line that says most of it, if it failed
    started_at: datetime | None = None
    ended_at: datetime | None = None

    def asks_the_same_as(self, other: Call) -> bool:
        """Say whether two calls try the same: alike in all arguments, or in the tool and its subject."""
        if self.tool != other.tool:
            return False
        if self.arguments_key and self.arguments_key == other.arguments_key:
            return True
        return bool(self.subject) and self.subject == other.subject


@dataclass(frozen=True, slots=True)
class Run:
    """One step: calls of the same kind, one after the other; the last one says how it ended."""

    step: str
    calls: Sequence[Call]

    @property
    def is_done(self) -> bool:
        return self.calls[-1].state == "done"


def group_steps(calls: Sequence[Call]) -> Iterator[Run]:
    """Return the steps of a loop."""
    for step, alike in groupby(calls, key=lambda call: call.step):
        yield Run(step, tuple(alike))


def step_of(tool: str, arguments: Json) -> str:
    """Return the tool, and of a command the program that it runs."""
    program = _program(_first(arguments, _COMMANDS))
    return clean(tool if program == tool else f"{tool} {program}".strip(), NAME)


def subject_of(arguments: Json) -> str:
    """Return what a call is about, if its arguments say so: a file, an address."""
    subject = clean(_first(arguments, _SUBJECTS), SUBJECT)
    return subject if subject.strip("./") else ""  # "here" and "everywhere" are about nothing


def _program(command: str) -> str:
    rest = command[:_SCAN_LIMIT]
    while (before := _BEFORE.match(rest)) is not None:
        rest = rest[before.end() :]
    word = _WORD.match(rest)
    if word is None:
        return ""
    program, verb = word[1], word[2] or ""
    return f"{program} {verb}".strip() if program in _WITH_VERBS else program


def _first(arguments: Json, names: Sequence[str]) -> str:
    if isinstance(arguments, dict):
        for name in names:
            value = arguments.get(name)
            if isinstance(value, str):
                return value.strip()
    return ""

"""Tool calls as steps: the tool's name and, of a shell command, its program."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Literal

from recorder.core.content.text import clean
from recorder.core.records import Json

NAME = 60  # characters of a step
SUBJECT = 300  # characters of a subject
_COMMANDS = ("command", "cmd")
_SUBJECTS = ("path", "file_path", "file", "filename", "url", "uri")
# Prefixes of a command before its program: cd, sudo, time, variables.
_BEFORE = re.compile(r"\s*(?:cd\s+[^&;|\s]+\s*(?:&&|;)|sudo\s|time\s|[A-Za-z_]\w*=[^\s]*\s)")
_WORD = re.compile(r"\s*(?:[^\s;&|<>]*/)?([\w.+-]+)(?:\s+([a-z][a-z-]+)(?=\s|$))?")
# Programs whose second word is a subcommand.
_WITH_VERBS = frozenset(
    "apt bundle cargo docker gh git go helm kubectl make npm pip pnpm poetry terraform uv yarn".split()
)
_SCAN_LIMIT = 2_000  # characters of a command that are matched; it may be a whole script


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call of a loop that has ended. `start` and `end` are journal ids."""

    start: int
    end: int
    tool: str
    step: str  # from `step_of`
    subject: str = ""
    arguments_key: str = ""
    state: Literal["done", "failed", "cut"] = "done"
    error: str = ""  # from `error_line`, if it failed
    started_at: datetime | None = None
    ended_at: datetime | None = None

    def retries(self, other: Call) -> bool:
        """Return whether both calls use the same tool with equal arguments or on the same subject."""
        if self.tool != other.tool:
            return False
        if self.arguments_key and self.arguments_key == other.arguments_key:
            return True
        return bool(self.subject) and self.subject == other.subject


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive calls of the same step. The last one determines the result."""

    step: str
    calls: Sequence[Call]

    @property
    def is_done(self) -> bool:
        return self.calls[-1].state == "done"


def group_steps(calls: Sequence[Call]) -> Iterator[Run]:
    """Yield the steps of a loop in order."""
    for step, group in groupby(calls, key=lambda call: call.step):
        yield Run(step, tuple(group))


def step_of(tool: str, arguments: Json) -> str:
    """Return the step of a call: the tool and, if it runs a command, its program; at most 60 characters."""
    program = _program(_first(arguments, _COMMANDS))
    return clean(tool if program == tool else f"{tool} {program}".strip(), NAME)


def subject_of(arguments: Json) -> str:
    """Return the file or URL in the arguments of a call, else ""; at most 300 characters."""
    subject = clean(_first(arguments, _SUBJECTS), SUBJECT)
    return subject if subject.strip("./") else ""  # "." and "/" name no particular file


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

"""The records of the flame graph: loops with their turns, tool calls and callers. Times in milliseconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dashboard.pages.flame.tree import NOTHING, Amounts

LEVELS = 6  # of sub-agents, below the session
SESSIONS_MAX = 200  # of sub-agents
TURNS_MAX = 10_000  # turns that are divided


class Part(NamedTuple):
    """The blocks of one kind and name that a call was sent."""

    kind: str
    name: str
    cost: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool call and when it ran; without times `start` is None."""

    tool_call_id: str
    name: str
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRow:
    """One turn. `undivided` is a cost that is neither of the context nor of the output."""

    pk: int
    ordinal: int
    start: int
    end: int
    context: Amounts
    output: Amounts
    undivided: Amounts
    tools: Sequence[Tool] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopRow:
    """One loop. `rest` is what the loop has beyond its turns; `called_by` a loop and its tool call."""

    pk: int
    session: int
    agent: str
    role: str
    start: int | None
    end: int | None
    rest: Amounts
    turns: Sequence[TurnRow] = ()
    called_by: tuple[int, str] | None = None


@dataclass(frozen=True, slots=True)
class Records:
    """A session with its sub-agents. `deeper` sessions of sub-agents were not read."""

    session: int
    loops: Mapping[int, LoopRow]
    rest: Amounts = NOTHING  # of the session, in none of its loops: evaluations
    deeper: int = 0
    is_cut: bool = False  # more than TURNS_MAX turns
    parts: Mapping[int, Sequence[Part]] = field(default_factory=dict)  # of turns whose blocks were read

"""Rows of the sums of the block ledger as they are read, and losses that are added up from them. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import NamedTuple


class Part(NamedTuple):
    """One sum over the period, in tokens and nano-dollars; `blocks` are those that were new."""

    agent: str
    version: str
    kind: str
    name: str
    server: str
    calls: int
    tokens: int
    blocks: int
    block_tokens: int
    nano: int
    first: date
    last: date


class Missed(NamedTuple):
    """The calls of one day with one verdict; `expected` are the tokens that could have been read.

    `change` is what changed in their requests, "" if that is unknown.
    """

    day: date
    verdict: str
    agent: str
    version: str
    calls: int
    lost_tokens: int
    lost_nano: int
    expected: int
    change: str


class ToolCalls(NamedTuple):
    """Recorded calls of a tool by one agent, in a sample of sessions."""

    agent: str
    name: str
    calls: int
    failed: int


@dataclass(slots=True)
class Loss:
    """Misses: calls, tokens that could have been read, and what they cost more than a read."""

    calls: int = 0
    tokens: int = 0
    nano: int = 0

    def add(self, missed: Missed) -> None:
        self.calls += missed.calls
        self.tokens += missed.lost_tokens
        self.nano += missed.lost_nano

    def rank(self) -> tuple[int, int, int]:
        """Return the key by which the largest loss sorts first."""
        return -self.nano, -self.tokens, -self.calls

"""The context window of a chain of calls: which blocks each request kept, added and dropped.

A chain is the calls of one agent in a session in order; branches, judges and sub-agents have chains of their
own. `Window.add` compares a request with the one before it. Blocks are numbered in the order in which they
first appeared, so the window of a request is a few ranges of numbers. Cost: proportional to the request.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, NamedTuple

from recorder.core.ledger import tokens
from recorder.core.ledger.blocks import Block, Kind, Request
from recorder.core.ledger.tokens import Answer, Source
from recorder.core.ledger.verdicts import Cached, Comparison, Judgement, Side, judge
from recorder.core.records import Json

RETENTION, LONG_RETENTION = "prompt_cache_retention", "24h"  # of OpenAI
LeftBy = Literal["compaction", "prune", "replaced"]
Ranges = list[list[int]]  # pairs of the first and the last number


class Held(NamedTuple):
    """A block in the window."""

    number: int
    key: str
    kind: Kind
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call: what it was sent and what was reported. Counts are None if they do not reconcile."""

    request: Request
    provider: str
    started_at: datetime
    prompt: int | None
    visible: int | None
    cache_read: int = 0
    cache_write: int = 0
    cache_write_1h: int = 0
    reasoning: int = 0
    compacted: bool = False  # a compaction ended since the call before
    pruned: bool = False  # messages were removed since the call before
    reason: str = ""  # why the provider says that its cache was missed


class NewBlock(NamedTuple):
    """A block that a request has first."""

    number: int
    block: Block
    tokens: int
    source: Source


@dataclass(frozen=True, slots=True)
class Entry:
    """One call in the ledger. `number` counts the calls of the chain from 1."""

    number: int
    ranges: Ranges
    new: Sequence[NewBlock]
    left: Mapping[int, LeftBy]
    kinds: Mapping[Kind, int]  # tokens of the window by kind, as the blocks have them
    known: int  # the sum of `kinds`; it differs from the prompt where that shrank or could not be split
    judgement: Judgement


@dataclass(slots=True)
class Window:
    """The state of a chain after its last call."""

    held: list[Held] = field(default_factory=list)
    calls: int = 0
    blocks: int = 0  # numbered so far
    prompt: int | None = None
    answer: Answer | None = None
    model: str = ""
    settings: Mapping[str, Json] = field(default_factory=dict)
    cached: Cached = field(default_factory=Cached)
    started_at: datetime | None = None

    def add(self, call: Call) -> Entry:
        """Return the entry of the next call, and move the window on."""
        blocks = call.request.blocks
        prefix = self._prefix(blocks)
        is_appended = prefix == len(self.held) and bool(self.calls)
        kept = self._matched(blocks, prefix)
        new = [block for block, held in zip(blocks, kept, strict=True) if held is None]
        answer = self.answer if is_appended else None
        counts = iter(tokens.count(new, call.prompt, self._reported(kept), answer))
        held: list[Held] = []
        added: list[NewBlock] = []
        for block, known in zip(blocks, kept, strict=True):
            if known is None:
                is_last = len(held) == len(blocks) - 1
                named = _as_summary(block) if call.compacted and not is_last else block
                added.append(NewBlock(self.blocks + len(added) + 1, named, *next(counts)))
                held.append(Held(added[-1].number, named.key, named.kind, added[-1].tokens))
            else:
                held.append(known)
        self.blocks += len(added)
        left = self._left(held, call)
        judgement = judge(self._comparison(call, prefix, held, kept))
        self._move(call, held)
        kinds = _by_kind(held)
        return Entry(self.calls, ranges_of(held), added, left, kinds, sum(kinds.values()), judgement)

    def _reported(self, kept: Sequence[Held | None]) -> int:
        """Return the tokens of kept blocks as the call before reported them, which may differ."""
        found = sum(each.tokens for each in kept if each is not None)
        known = sum(each.tokens for each in self.held)
        return found if self.prompt is None or not known else found * self.prompt // known

    def _prefix(self, blocks: Sequence[Block]) -> int:
        """Return how many blocks at the start are equal to those of the request before."""
        for index, (held, block) in enumerate(zip(self.held, blocks, strict=False)):
            if held.key != block.key:
                return index
        return min(len(self.held), len(blocks))

    def _matched(self, blocks: Sequence[Block], prefix: int) -> list[Held | None]:
        """Return the block of the window that each block of the request is, None for a new one."""
        rest: dict[str, deque[Held]] = defaultdict(deque)
        for held in self.held[prefix:]:
            rest[held.key].append(held)
        found: list[Held | None] = list(self.held[:prefix])
        for block in blocks[prefix:]:
            known = rest.get(block.key)
            found.append(known.popleft() if known else None)
        return found

    def _left(self, held: Sequence[Held], call: Call) -> dict[int, LeftBy]:
        numbers = {each.number for each in held}
        cause: LeftBy = "compaction" if call.compacted else "prune" if call.pruned else "replaced"
        return {
            gone.number: "replaced" if gone.kind in ("tool_definition", "system") else cause
            for gone in self.held
            if gone.number not in numbers
        }

    def _comparison(
        self, call: Call, prefix: int, held: Sequence[Held], kept: Sequence[Held | None]
    ) -> Comparison:
        in_place = {each.number for each in kept if each is not None}
        replaced = [
            before.tokens
            for before, after in zip(self.held, held, strict=False)
            if before.number not in in_place and before.kind == after.kind in ("tool_definition", "system")
        ]
        kept_tokens = sum(each.tokens for each in kept if each is not None) + sum(replaced)
        return Comparison(
            before=Side(self.model, self.settings, [each.kind for each in self.held]),
            after=Side(call.request.model, call.request.settings, [each.kind for each in held]),
            is_first=not self.calls,
            is_recorded=call.request.is_recorded,
            prefix_blocks=prefix,
            prefix_tokens=sum(each.tokens for each in held[:prefix]),
            kept_tokens=kept_tokens,
            before_tokens=sum(each.tokens for each in self.held),
            cached=self.cached,
            call_read=call.cache_read,
            prompt=call.prompt,
            provider=call.provider,
            idle_s=(call.started_at - self.started_at).total_seconds() if self.started_at else 0.0,
            compacted=call.compacted,
            reason=call.reason,
        )

    def _move(self, call: Call, held: list[Held]) -> None:
        self.held, self.calls = held, self.calls + 1
        self.prompt, self.answer = call.prompt, Answer(call.visible, call.reasoning)
        self.model, self.settings, self.started_at = (
            call.request.model,
            call.request.settings,
            call.started_at,
        )
        self.cached = Cached(
            prompt=call.prompt or 0,
            marked=call.cache_read + call.cache_write,
            has_read=self.cached.has_read or call.cache_read > 0,
            is_long=call.request.settings.get(RETENTION) == LONG_RETENTION
            or call.cache_write_1h > 0
            or (self.cached.is_long and not call.cache_write),
            reports_writes=call.cache_write > 0,
        )


def ranges_of(held: Sequence[Held]) -> Ranges:
    """Return the numbers of a window as ranges, in the order of the window."""
    found: Ranges = []
    for each in held:
        if found and found[-1][1] + 1 == each.number:
            found[-1][1] = each.number
        else:
            found.append([each.number, each.number])
    return found


def numbers_of(ranges: Ranges) -> list[int]:
    """Return the numbers of ranges, in order."""
    return [number for first, last in ranges for number in range(first, last + 1)]


def _by_kind(held: Sequence[Held]) -> dict[Kind, int]:
    found: dict[Kind, int] = {}
    for each in held:
        found[each.kind] = found.get(each.kind, 0) + each.tokens
    return found


def _as_summary(block: Block) -> Block:
    """Return a new message of a user as the summary: the prompt of a turn would be the last block."""
    return replace(block, kind="compaction_summary") if block.kind == "user" else block

"""phi-core's compaction block, as stored in a session of the agent. Pure.

Its positions count groups of messages (`messages.groups`), not turns; its messages are the inserted summary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.compaction_analysis.message_zones import Comparison, Kind, MessageGroup, Zone, build_comparison
from dashboard.compaction_analysis.messages import Message, groups, messages, total
from dashboard.rendering.sequence_match import patience_match
from recorder.core.records import Json

POSITION_MAX = 1_000_000  # larger positions are invalid


@dataclass(frozen=True, slots=True)
class Range:
    """Groups from `first` to `last`, both inclusive."""

    first: int
    last: int

    def __contains__(self, at: int) -> bool:
        return self.first <= at <= self.last


@dataclass(frozen=True, slots=True)
class Block:
    """A block: the ranges of kept and summarised groups, and the messages that it holds."""

    first: Range | None
    summarised: Range | None
    recent: Range | None
    put: Sequence[Message]
    left: Sequence[Message]  # the recent messages, some with truncated results

    @property
    def groups(self) -> int:
        return max((part.last + 1 for part in (self.first, self.summarised, self.recent) if part), default=0)


def block(value: Json) -> Block | None:
    """Parse a block; None if it has no range."""
    if not isinstance(value, dict):
        return None
    read = Block(
        first=_range(value.get("keep_first")),
        summarised=_range(_inside(value, "keep_compacted", "range")),
        recent=_range(_inside(value, "keep_recent", "range")),
        put=messages(_inside(value, "keep_compacted", "messages")),
        left=messages(_inside(value, "keep_recent", "messages")),
    )
    return read if read.groups else None


def fits(block_read: Block, before: Sequence[Message]) -> bool:
    """Whether these messages have as many groups as the block covers."""
    return len(groups(before)) == block_read.groups


def compared(block_read: Block, before: Sequence[Message]) -> Comparison:
    """Compare the messages of the loop by a block; by counts only if the block does not fit them."""
    if not fits(block_read, before):
        return _counts_only(block_read)
    kinds: list[Kind] = []
    for at, group in enumerate(groups(before)):
        kinds += [_kind(block_read, at)] * len(group)
    firsts = [i for i, kind in enumerate(kinds) if kind == "first"]
    recents = [i for i, kind in enumerate(kinds) if kind == "recent"]
    after = [*(before[i] for i in firsts), *block_read.put, *block_read.left]
    shift = len(firsts) + len(block_read.put)
    pairs = patience_match([before[i].name for i in recents], [message.name for message in block_read.left])
    partner = {i: n for n, i in enumerate(firsts)} | {recents[i]: shift + j for i, j in pairs}
    inserted: list[tuple[Kind, int]] = [("summary", n) for n in range(len(firsts), shift)]
    matched = {j for _, j in pairs}
    inserted += [("recent", shift + j) for j in range(len(block_read.left)) if j not in matched]
    return build_comparison(before, after, kinds, partner, inserted)


def _kind(block_read: Block, at: int) -> Kind:
    if block_read.first and at in block_read.first:
        return "first"
    if block_read.recent and at in block_read.recent:
        return "recent"
    return "summary" if block_read.summarised and at in block_read.summarised else "drop"


def _counts_only(block_read: Block) -> Comparison:
    """Return a comparison without the messages before: numbers of groups, and the messages after."""
    parts: list[tuple[Kind, Range | None, Sequence[Message] | None]] = [
        ("first", block_read.first, None),
        ("summary", block_read.summarised, block_read.put),
        ("recent", block_read.recent, block_read.left),
    ]
    rows = [MessageGroup(kind, part.first, part.last) for kind, part, _ in parts if part]
    zones = [
        Zone(
            kind=kind,
            before=part.last - part.first + 1,
            after=0 if now is None else len(now),
            size_before=None,
            size_after=None if now is None else total(now),
            inserted=now or (),
            unit="group",
        )
        for kind, part, now in parts
        if part
    ]
    return Comparison(rows, zones, block_read.groups, sum(zone.after for zone in zones))


def _inside(value: dict[str, Json], *names: str) -> Json:
    at: Json = value
    for name in names:
        at = at.get(name) if isinstance(at, dict) else None
    return at


def _range(value: Json) -> Range | None:
    first, last = (value.get("startTurn"), value.get("endTurn")) if isinstance(value, dict) else (None, None)
    if type(first) is not int or type(last) is not int or not 0 <= first <= last < POSITION_MAX:
        return None
    return Range(first, last)

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
    found = Block(
        first=_range(value.get("keep_first")),
        summarised=_range(_inside(value, "keep_compacted", "range")),
        recent=_range(_inside(value, "keep_recent", "range")),
        put=messages(_inside(value, "keep_compacted", "messages")),
        left=messages(_inside(value, "keep_recent", "messages")),
    )
    return found if found.groups else None


def fits(found: Block, before: Sequence[Message]) -> bool:
    """Whether these messages have as many groups as the block covers."""
    return len(groups(before)) == found.groups


def compared(found: Block, before: Sequence[Message]) -> Comparison:
    """Compare the messages of the loop by a block; by counts only if the block does not fit them."""
    if not fits(found, before):
        return _counted(found)
    kinds: list[Kind] = []
    for at, group in enumerate(groups(before)):
        kinds += [_kind(found, at)] * len(group)
    firsts = [i for i, kind in enumerate(kinds) if kind == "first"]
    recents = [i for i, kind in enumerate(kinds) if kind == "recent"]
    after = [*(before[i] for i in firsts), *found.put, *found.left]
    shift = len(firsts) + len(found.put)
    pairs = patience_match([before[i].name for i in recents], [message.name for message in found.left])
    partner = {i: n for n, i in enumerate(firsts)} | {recents[i]: shift + j for i, j in pairs}
    inserted: list[tuple[Kind, int]] = [("summary", n) for n in range(len(firsts), shift)]
    matched = {j for _, j in pairs}
    inserted += [("recent", shift + j) for j in range(len(found.left)) if j not in matched]
    return build_comparison(before, after, kinds, partner, inserted)


def _kind(found: Block, at: int) -> Kind:
    if found.first and at in found.first:
        return "first"
    if found.recent and at in found.recent:
        return "recent"
    return "summary" if found.summarised and at in found.summarised else "drop"


def _counted(found: Block) -> Comparison:
    """Return a comparison without the messages before: numbers of groups, and the messages after."""
    parts: list[tuple[Kind, Range | None, Sequence[Message] | None]] = [
        ("first", found.first, None),
        ("summary", found.summarised, found.put),
        ("recent", found.recent, found.left),
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
    return Comparison(rows, zones, found.groups, sum(zone.after for zone in zones))


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

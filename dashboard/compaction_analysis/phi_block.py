"""phi-core's compaction block, from a session that the agent itself held. Pure.

Its positions count groups of messages, not turns (`messages.groups`), and its own words are what was put in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.compaction_analysis.message_zones import Comparison, Kind, Row, Zone, told
from dashboard.compaction_analysis.messages import Message, groups, messages, total
from dashboard.rendering.sequence_match import patience_match
from recorder.core.records import Json

FARTHEST = 1_000_000  # groups; what is beyond is no position


@dataclass(frozen=True, slots=True)
class Range:
    """Groups from the first to the last, both in it."""

    first: int
    last: int

    def __contains__(self, at: int) -> bool:
        return self.first <= at <= self.last


@dataclass(frozen=True, slots=True)
class Block:
    """What the block says: which groups were kept and summarised, and what it holds of them."""

    first: Range | None
    summarised: Range | None
    recent: Range | None
    put: Sequence[Message]
    left: Sequence[Message]  # of the recent ones, maybe with cut results

    @property
    def groups(self) -> int:
        return max((each.last + 1 for each in (self.first, self.summarised, self.recent) if each), default=0)


def block(said: Json) -> Block | None:
    """Read a block; None if it says nothing of any group."""
    if not isinstance(said, dict):
        return None
    found = Block(
        first=_range(said.get("keep_first")),
        summarised=_range(_inside(said, "keep_compacted", "range")),
        recent=_range(_inside(said, "keep_recent", "range")),
        put=messages(_inside(said, "keep_compacted", "messages")),
        left=messages(_inside(said, "keep_recent", "messages")),
    )
    return found if found.groups else None


def fits(found: Block, before: Sequence[Message]) -> bool:
    """Say whether these are the messages that a block speaks of."""
    return len(groups(before)) == found.groups


def compared(found: Block, before: Sequence[Message]) -> Comparison:
    """Compare by a block with what the loop held, by counts where it does not speak of that."""
    if not fits(found, before):
        return _counted(found)
    kinds: list[Kind] = []
    for at, group in enumerate(groups(before)):
        kinds += [_kind(found, at)] * len(group)
    firsts = [i for i, kind in enumerate(kinds) if kind == "first"]
    recents = [i for i, kind in enumerate(kinds) if kind == "recent"]
    after = [*(before[i] for i in firsts), *found.put, *found.left]
    shift = len(firsts) + len(found.put)
    pairs = patience_match([before[i].name for i in recents], [each.name for each in found.left])
    partner = {i: n for n, i in enumerate(firsts)} | {recents[i]: shift + j for i, j in pairs}
    stand: list[tuple[Kind, int]] = [("summary", n) for n in range(len(firsts), shift)]
    taken = {j for _, j in pairs}
    stand += [("recent", shift + j) for j in range(len(found.left)) if j not in taken]
    return told(before, after, kinds, partner, stand)


def _kind(found: Block, at: int) -> Kind:
    if found.first and at in found.first:
        return "first"
    if found.recent and at in found.recent:
        return "recent"
    return "summary" if found.summarised and at in found.summarised else "drop"


def _counted(found: Block) -> Comparison:
    """Return what can be said without the messages before: how many groups, and what is there now."""
    parts: list[tuple[Kind, Range | None, Sequence[Message] | None]] = [
        ("first", found.first, None),
        ("summary", found.summarised, found.put),
        ("recent", found.recent, found.left),
    ]
    rows = [Row(kind, each.first, each.last) for kind, each, _ in parts if each]
    zones = [
        Zone(
            kind=kind,
            before=each.last - each.first + 1,
            after=0 if now is None else len(now),
            size_before=None,
            size_after=None if now is None else total(now),
            stand=now or (),
            unit="group",
        )
        for kind, each, now in parts
        if each
    ]
    return Comparison(rows, zones, found.groups, sum(zone.after for zone in zones))


def _inside(said: dict[str, Json], *names: str) -> Json:
    at: Json = said
    for name in names:
        at = at.get(name) if isinstance(at, dict) else None
    return at


def _range(said: Json) -> Range | None:
    first, last = (said.get("startTurn"), said.get("endTurn")) if isinstance(said, dict) else (None, None)
    if type(first) is not int or type(last) is not int or not 0 <= first <= last < FARTHEST:
        return None
    return Range(first, last)

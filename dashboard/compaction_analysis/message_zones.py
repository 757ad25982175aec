"""Zones of a compaction: which messages were kept, summarised, dropped, truncated or are new. Pure.

The requests before and after are aligned by message name (patience matching). Of a gap between two matches,
messages before it that are gone are "summary" if new text is in their place, else "drop". Matched messages
are "kept" if nothing is gone, else "first" before the first gap and "recent" after it; a match with
different content is a cut.
Invariant: each message before is in exactly one zone, and so is each message after. Cost: that of the
matching, plus a linear pass per zone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from dashboard.compaction_analysis.messages import Message, groups, total
from dashboard.rendering.sequence_match import patience_match

Kind = Literal["kept", "first", "summary", "drop", "recent", "new"]
TITLES: Mapping[Kind, str] = {
    "kept": "Kept",
    "first": "Kept first",
    "summary": "Summarised",
    "drop": "Dropped",
    "recent": "Kept recent",
    "new": "New since",
}


@dataclass(frozen=True, slots=True)
class Cut:
    """A kept message whose content changed, with its size in bytes before and after."""

    message: Message
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class MessageGroup:
    """A group of messages before, by position from 1. A size of None is unknown."""

    kind: Kind
    first: int
    last: int
    messages: Sequence[Message] = ()
    size: int | None = None
    is_cut: bool = False

    @property
    def who(self) -> str:
        return self.messages[0].who if self.messages else "Group"

    @property
    def text(self) -> str:
        return next((message.text for message in self.messages if message.text and not message.is_result), "")

    @property
    def tools(self) -> str:
        """Return the names of the tools that it calls, without repetition."""
        return ", ".join(
            dict.fromkeys(tool for message in self.messages[:1] for tool in message.tools if tool)
        )


@dataclass(frozen=True, slots=True)
class Zone:
    """All messages of one kind. Sizes are bytes; None is unknown."""

    kind: Kind
    before: int = 0  # messages
    after: int = 0
    size_before: int | None = 0
    size_after: int | None = 0
    inserted: Sequence[Message] = ()  # messages after that were not there before
    cuts: Sequence[Cut] = ()
    unit: str = "message"

    @property
    def title(self) -> str:
        return TITLES[self.kind]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Comparison of two contexts; zones are in the order of the context after."""

    rows: Sequence[MessageGroup]
    zones: Sequence[Zone]
    before: int  # messages
    after: int
    lost: Mapping[str, Kind | Literal["cut"]] = field(
        default_factory=dict
    )  # tool calls whose result is gone or truncated

    @property
    def size_before(self) -> int | None:
        return _sum(zone.size_before for zone in self.zones)

    @property
    def size_after(self) -> int | None:
        return _sum(zone.size_after for zone in self.zones)

    @property
    def new(self) -> int:
        return sum(zone.after for zone in self.zones if zone.kind == "new")

    @property
    def is_whole(self) -> bool:
        """Whether every message before is unchanged after."""
        return all(zone.kind in ("kept", "new") and not zone.cuts for zone in self.zones)


@dataclass(slots=True)
class _Fate:
    kinds: list[Kind]
    partner: dict[int, int]
    inserted: list[tuple[Kind, int]]  # messages that are only in the context after


def compare(
    before: Sequence[Message],
    after: Sequence[Message],
    new: Collection[bytes] = (),
    known: Collection[bytes] = (),
) -> Comparison:
    """Compare two contexts: `new` are keys of messages after the compaction, `known` keys of its summary."""
    pairs = patience_match([message.name for message in before], [message.name for message in after])
    fate = _fate(before, after, pairs, new, known)
    return build_comparison(before, after, fate.kinds, fate.partner, fate.inserted)


def build_comparison(
    before: Sequence[Message],
    after: Sequence[Message],
    kinds: Sequence[Kind],
    partner: Mapping[int, int],
    inserted: Sequence[tuple[Kind, int]],
) -> Comparison:
    """Build the comparison from the kind of each message before and the partner of each kept one."""
    cuts = {
        i: Cut(before[i], before[i].size, after[j].size)
        for i, j in partner.items()
        if before[i].key != after[j].key
    }
    zones = [zone for kind in TITLES if (zone := _zone(kind, before, after, kinds, partner, inserted, cuts))]
    lost: dict[str, Kind | Literal["cut"]] = {}
    for i, message in enumerate(before):
        if message.is_result and (i in cuts or i not in partner):
            lost |= dict.fromkeys(message.calls, "cut" if i in cuts else kinds[i])
    return Comparison(list(_rows(before, kinds, cuts)), zones, len(before), len(after), lost)


def _fate(
    before: Sequence[Message],
    after: Sequence[Message],
    pairs: Sequence[tuple[int, int]],
    new: Collection[bytes],
    known: Collection[bytes],
) -> _Fate:
    fate = _Fate(["drop"] * len(before), dict(pairs), [])
    is_shortened = len(pairs) < len(before)
    is_first = True
    start = (0, 0)
    for i, j in (*pairs, (len(before), len(after))):
        gone, added = range(start[0], i), range(start[1], j)
        put = [
            n for n in added if (after[n].key in known if known else bool(gone) and after[n].key not in new)
        ]
        fate.inserted += [("summary" if n in put else "new", n) for n in added]
        for n in gone:
            fate.kinds[n] = "summary" if put else "drop"
        is_first = is_first and not gone
        if i < len(before):
            fate.kinds[i] = "kept" if not is_shortened else "first" if is_first else "recent"
        start = (i + 1, j + 1)
    return fate


def _zone(
    kind: Kind,
    before: Sequence[Message],
    after: Sequence[Message],
    kinds: Sequence[Kind],
    partner: Mapping[int, int],
    inserted: Sequence[tuple[Kind, int]],
    cuts: Mapping[int, Cut],
) -> Zone | None:
    indexes = [i for i, other in enumerate(kinds) if other == kind]
    put = [after[j] for other, j in inserted if other == kind]
    if not indexes and not put:
        return None
    left = [after[partner[i]] for i in indexes if i in partner] + put
    return Zone(
        kind=kind,
        before=len(indexes),
        after=len(left),
        size_before=total(before[i] for i in indexes),
        size_after=total(left),
        inserted=put,
        cuts=[cuts[i] for i in indexes if i in cuts],
    )


def _rows(
    before: Sequence[Message], kinds: Sequence[Kind], cuts: Mapping[int, Cut]
) -> Iterator[MessageGroup]:
    at = 0
    for group in groups(before):
        row: MessageGroup | None = None
        for i, message in enumerate(group, at):
            if row is not None and kinds[i] == row.kind:
                parts = [*row.messages, message]
                row = replace(
                    row, last=i + 1, messages=parts, size=total(parts), is_cut=row.is_cut or i in cuts
                )
                continue
            if row is not None:
                yield row
            row = MessageGroup(kinds[i], i + 1, i + 1, [message], message.size, i in cuts)
        if row is not None:
            yield row
        at += len(group)


def _sum(sizes: Iterator[int | None]) -> int | None:
    values = list(sizes)
    return None if None in values else sum(size or 0 for size in values)

"""What became of each message when a context was shortened: kept, summarised, dropped, cut. Pure."""

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
    """A message that was kept in other words: how large it was and is."""

    message: Message
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Row:
    """A group of messages before; `first` is the place of its first, from 1. None is unknown."""

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
        return next((each.text for each in self.messages if each.text and not each.is_result), "")

    @property
    def tools(self) -> str:
        """Return the tools that it calls, each once."""
        return ", ".join(dict.fromkeys(tool for each in self.messages[:1] for tool in each.tools if tool))


@dataclass(frozen=True, slots=True)
class Zone:
    """All that shared one fate. Sizes are bytes; None is unknown."""

    kind: Kind
    before: int = 0  # messages
    after: int = 0
    size_before: int | None = 0
    size_after: int | None = 0
    stand: Sequence[Message] = ()  # what stands there now and did not before
    cuts: Sequence[Cut] = ()
    unit: str = "message"

    @property
    def title(self) -> str:
        return TITLES[self.kind]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two contexts compared, zones as they stand in the one after."""

    rows: Sequence[Row]
    zones: Sequence[Zone]
    before: int  # messages
    after: int
    lost: Mapping[str, Kind | Literal["cut"]] = field(default_factory=dict)  # calls whose result is not whole

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
        """Say whether all that was there still is, word for word."""
        return all(zone.kind in ("kept", "new") and not zone.cuts for zone in self.zones)


@dataclass(slots=True)
class _Fate:
    kinds: list[Kind]
    partner: dict[int, int]
    stand: list[tuple[Kind, int]]  # what is only in the one after


def compare(
    before: Sequence[Message],
    after: Sequence[Message],
    new: Collection[bytes] = (),
    known: Collection[bytes] = (),
) -> Comparison:
    """Compare what was there with what was sent: `new` is what was said since, `known` what a pass put in.

    What is gone where something else stands was summarised, whatever else is gone was dropped.
    """
    pairs = patience_match([each.name for each in before], [each.name for each in after])
    fate = _fate(before, after, pairs, new, known)
    return told(before, after, fate.kinds, fate.partner, fate.stand)


def told(
    before: Sequence[Message],
    after: Sequence[Message],
    kinds: Sequence[Kind],
    partner: Mapping[int, int],
    stand: Sequence[tuple[Kind, int]],
) -> Comparison:
    """Return the comparison that follows from the fate of each message."""
    cuts = {
        i: Cut(before[i], before[i].size, after[j].size)
        for i, j in partner.items()
        if before[i].key != after[j].key
    }
    zones = [zone for kind in TITLES if (zone := _zone(kind, before, after, kinds, partner, stand, cuts))]
    lost: dict[str, Kind | Literal["cut"]] = {}
    for i, each in enumerate(before):
        if each.is_result and (i in cuts or i not in partner):
            lost |= dict.fromkeys(each.calls, "cut" if i in cuts else kinds[i])
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
        gone, fresh = range(start[0], i), range(start[1], j)
        put = [
            n for n in fresh if (after[n].key in known if known else bool(gone) and after[n].key not in new)
        ]
        fate.stand += [("summary" if n in put else "new", n) for n in fresh]
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
    stand: Sequence[tuple[Kind, int]],
    cuts: Mapping[int, Cut],
) -> Zone | None:
    mine = [i for i, each in enumerate(kinds) if each == kind]
    put = [after[j] for each, j in stand if each == kind]
    if not mine and not put:
        return None
    left = [after[partner[i]] for i in mine if i in partner] + put
    return Zone(
        kind=kind,
        before=len(mine),
        after=len(left),
        size_before=total(before[i] for i in mine),
        size_after=total(left),
        stand=put,
        cuts=[cuts[i] for i in mine if i in cuts],
    )


def _rows(before: Sequence[Message], kinds: Sequence[Kind], cuts: Mapping[int, Cut]) -> Iterator[Row]:
    at = 0
    for group in groups(before):
        row: Row | None = None
        for i, each in enumerate(group, at):
            if row is not None and kinds[i] == row.kind:
                parts = [*row.messages, each]
                row = replace(
                    row, last=i + 1, messages=parts, size=total(parts), is_cut=row.is_cut or i in cuts
                )
                continue
            if row is not None:
                yield row
            row = Row(kinds[i], i + 1, i + 1, [each], each.size, i in cuts)
        if row is not None:
            yield row
        at += len(group)


def _sum(sizes: Iterator[int | None]) -> int | None:
    known = list(sizes)
    return None if None in known else sum(size or 0 for size in known)

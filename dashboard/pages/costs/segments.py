"""Costs by segment. Pure; `recorder/core/money/segments.py` says which segment a loop is in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dashboard.pages.costs.totals import Sum, share, total
from recorder.core.records import Segment

WORDS: dict[Segment, tuple[str, str]] = {  # in the order of the page: its name, what it means
    "single": ("Single loops", "No group, no rerun, not cut off"),
    "winner": ("Winners", "Branches that their groups selected"),
    "losers": ("Losing branches", "Branches that lost"),
    "judge": ("Judges", "What choosing cost besides the branches"),
    "undecided": ("Branches without a verdict", "Their group has not ended"),
    "reruns": ("Reruns", "The same prompt again"),
    "stopped": ("Aborted and rejected", "Cut off, or refused"),
    "compaction": ("Compaction", "Passes that shorten a context"),
    "sub_agents": ("Sub-agents", "Loops that a tool call started"),
}


@dataclass(frozen=True, slots=True)
class Entry:
    """What one segment spent."""

    segment: Segment
    words: str
    meaning: str
    sum: Sum
    share: float | None  # of all that was spent


@dataclass(frozen=True, slots=True)
class Ledger:
    """Every loop of the period, each in one entry; `whole` is their sum."""

    entries: tuple[Entry, ...]
    whole: Sum
    overhead: float | None  # None: no winner has a price, or not everything has
    lost: float | None  # the share of losing branches
    judged: float | None  # and of judges

    @property
    def is_empty(self) -> bool:
        return not self.entries


def ledger(spent: Mapping[Segment, Sum]) -> Ledger:
    """Return the ledger of what the loops of each segment spent."""
    whole = total(spent.values())
    entries = tuple(
        Entry(segment, *words, spent[segment], share(spent[segment].cost_nano, whole.cost_nano))
        for segment, words in WORDS.items()
        if segment in spent and not spent[segment].is_nothing
    )
    return Ledger(
        entries,
        whole,
        _overhead(spent),
        lost=share(spent.get("losers", Sum()).cost_nano, whole.cost_nano),
        judged=share(spent.get("judge", Sum()).cost_nano, whole.cost_nano),
    )


def _overhead(spent: Mapping[Segment, Sum]) -> float | None:
    """Return (total - winners) / winners over all groups with a verdict, as the protocol has it for one."""
    won = spent.get("winner", Sum())
    group = total((won, spent.get("losers", Sum()), spent.get("judge", Sum())))
    if not won.cost_nano or group.cost_nano is None or group.unpriced:
        return None
    return (group.cost_nano - won.cost_nano) / won.cost_nano

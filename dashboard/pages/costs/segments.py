"""Costs by segment. Pure; `recorder/core/money/segments.py` assigns each loop to one segment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dashboard.pages.costs.totals import UsageTotals, share, total
from recorder.core.records import Segment

WORDS: dict[Segment, tuple[str, str]] = {  # in the order of the page: label and description
    "single": ("Single loops", "No group, no rerun, not aborted"),
    "winner": ("Winners", "Branches that their groups selected"),
    "losers": ("Losing branches", "Branches that lost"),
    "judge": ("Judges", "Judging branches"),
    "undecided": ("Branches without a verdict", "Their group has not ended"),
    "reruns": ("Reruns", "The same prompt again"),
    "stopped": ("Aborted and rejected", "Aborted, or rejected by a filter"),
    "compaction": ("Compaction", "Loops that shorten a context"),
    "sub_agents": ("Sub-agents", "Loops that a tool call started"),
}


@dataclass(frozen=True, slots=True)
class Entry:
    """Usage of one segment."""

    segment: Segment
    words: str
    meaning: str
    sum: UsageTotals
    share: float | None  # of the total cost


@dataclass(frozen=True, slots=True)
class Ledger:
    """Cost by segment: each loop of the period is counted in one entry; `whole` is the sum."""

    entries: tuple[Entry, ...]
    whole: UsageTotals
    overhead: float | None  # None: no winner has a price, or a call of a group has none
    lost: float | None  # share of losing branches in the total
    judged: float | None  # share of judges in the total

    @property
    def is_empty(self) -> bool:
        return not self.entries


def ledger(usage: Mapping[Segment, UsageTotals]) -> Ledger:
    """Return the ledger for the usage of each segment."""
    whole = total(usage.values())
    entries = tuple(
        Entry(segment, *words, usage[segment], share(usage[segment].cost_nano, whole.cost_nano))
        for segment, words in WORDS.items()
        if segment in usage and not usage[segment].is_nothing
    )
    return Ledger(
        entries,
        whole,
        _overhead(usage),
        lost=share(usage.get("losers", UsageTotals()).cost_nano, whole.cost_nano),
        judged=share(usage.get("judge", UsageTotals()).cost_nano, whole.cost_nano),
    )


def _overhead(usage: Mapping[Segment, UsageTotals]) -> float | None:
    """Return (total - winners) / winners over all groups with a verdict (overhead ratio)."""
    won = usage.get("winner", UsageTotals())
    group = total((won, usage.get("losers", UsageTotals()), usage.get("judge", UsageTotals())))
    if not won.cost_nano or group.cost_nano is None or group.unpriced:
        return None
    return (group.cost_nano - won.cost_nano) / won.cost_nano

"""Totals of a list of compactions: counts, reported tokens, by config and agent, net savings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Case, Count, F, Q, QuerySet, Sum, When

from dashboard.compaction_analysis.queries.passes import CompactionEffect, passes, shown
from dashboard.pages.compactions.params import NEWEST as NEWEST_FIRST
from dashboard.query_conditions.queries.compactions import AGENT, CONFIG
from dashboard.shared.queries.config_labels import Chip, chips
from recorder.models import Compaction

NEWEST = 100  # compactions whose net savings are computed
BEST = 3  # listed on either end
GROUPS_MAX = 100

_KNOWN = Q(tokens_before__isnull=False, tokens_after__isnull=False)
_IDLE = Q(_KNOWN, tokens_before=F("tokens_after")) & (
    Q(messages_before__isnull=True) | Q(messages_after__isnull=True) | Q(messages_before=F("messages_after"))
)
SUMS: Mapping[str, Any] = {
    "count": Count("pk"),
    "sessions": Count("loop__session", distinct=True),
    "idle": Count("pk", filter=_IDLE),
    "known": Count("pk", filter=_KNOWN),
    # Floats, so that absurdly large counts do not overflow 64 bits.
    "before": Sum(Case(When(_KNOWN, then=1.0 * F("tokens_before")))),
    "after": Sum(Case(When(_KNOWN, then=1.0 * F("tokens_after")))),
}


@dataclass(frozen=True, slots=True)
class Figures:
    """Totals of compactions.

    `before` and `after` are reported tokens of the `known` ones that report both.
    """

    count: int = 0
    sessions: int = 0
    idle: int = 0  # compactions that report no effect
    known: int = 0
    before: float | None = None
    after: float | None = None
    name: str = ""
    chip: Chip | None = None

    @property
    def tokens_before(self) -> int | None:
        return None if self.before is None else round(self.before)

    @property
    def tokens_after(self) -> int | None:
        return None if self.after is None else round(self.after)

    @property
    def smaller(self) -> float | None:
        if not self.before or self.after is None or self.after > self.before:
            return None
        return 1 - self.after / self.before


@dataclass(frozen=True, slots=True)
class Paid:
    """The newest compactions by net savings; those without a price are only counted."""

    best: Sequence[CompactionEffect]
    worst: Sequence[CompactionEffect]
    priced: int
    sampled: int
    net_nano: int


def figures(rows: QuerySet[Compaction]) -> Figures:
    """Add up all compactions of a list. One query."""
    return Figures(**rows.order_by().aggregate(**SUMS))


def by_config(rows: QuerySet[Compaction]) -> list[Figures]:
    """Add up by config, most compactions first. Two queries."""
    grouped = _by(rows.annotate(of=CONFIG))
    named = chips({row["of"] for row in grouped if row["of"]})
    return [Figures(**_sums(row), chip=named.get(row["of"] or 0)) for row in grouped]


def by_agent(rows: QuerySet[Compaction]) -> list[Figures]:
    """Add up by agent, most compactions first. One query."""
    return [Figures(**_sums(row), name=row["of"]) for row in _by(rows.annotate(of=AGENT))]


def _by(rows: QuerySet[Any]) -> list[dict[str, Any]]:
    return list(rows.order_by().values("of").annotate(**SUMS).order_by("-count", "of")[:GROUPS_MAX])


def _sums(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in SUMS}


def paid(rows: QuerySet[Compaction]) -> Paid:
    """Return the newest compactions with the highest and lowest net savings. Six queries."""
    found = passes(NEWEST_FIRST.sort(shown(rows))[:NEWEST])
    priced = [item for item in found if item.payback.net_nano is not None and item.payback.calls]
    ranked = sorted(priced, key=lambda item: (-(item.payback.net_nano or 0), item.pk))
    half = len(ranked) // 2
    return Paid(
        best=ranked[: min(BEST, len(ranked) - half)],
        worst=ranked[: -min(BEST, half) - 1 : -1] if half else [],
        priced=len(priced),
        sampled=len(found),
        net_nano=sum(item.payback.net_nano or 0 for item in priced),
    )

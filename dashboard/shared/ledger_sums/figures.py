"""Figures of the block ledger of a project over whole days, added up from sums. Pure.

Invariant: context, output and undivided cost are the cost of the calls of the period, as on the costs page.
Cost: one pass over the sums.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import NamedTuple

from dashboard.shared.ledger_sums.rows import Loss, Missed, Part, ToolCalls
from dashboard.shared.ledger_sums.tools import Tool, Unused, tools_of, unused_of
from recorder.core.ledger.verdicts import NO_MISS

OUTPUT, UNDIVIDED, MISS = "output", "undivided", "miss"
NOT_CONTEXT = (OUTPUT, UNDIVIDED, MISS)
WEEK = 7  # days
NEW_SHARE = 0.5  # of the misses of the main cause: a version with more is named as its beginning


@dataclass(frozen=True, slots=True)
class Cause:
    """A verdict that is a miss, with its loss in the period and on each day that has one.

    `changes` are its losses by what changed in the requests, the largest first; they add up to `whole`.
    """

    verdict: str
    whole: Loss
    days: Mapping[date, Loss]
    changes: Sequence[tuple[str, Loss]]

    @property
    def main_change(self) -> str:
        """Return what changed in more than a half of the misses, "" if nothing did in so many."""
        most = NEW_SHARE * self.whole.calls
        return next((change for change, loss in self.changes if loss.calls > most), "")


@dataclass(slots=True)
class Version:
    """One version of an agent. Nano-dollars; `expected` tokens could have been read from the cache."""

    agent: str
    version: str
    first: date
    last: date
    turns: int = 0
    context_nano: int = 0
    cost_nano: int = 0
    expected: int = 0
    loss: Loss = field(default_factory=Loss)
    is_new: bool = False  # followed another version of the agent within the period

    @property
    def hit_rate(self) -> float | None:
        """Return the share of the tokens that could have been read from the cache that were."""
        return 1 - self.loss.tokens / self.expected if self.expected else None

    @property
    def context_each(self) -> int | None:
        return round(self.context_nano / self.turns) if self.turns else None

    @property
    def cost_each(self) -> int | None:
        return round(self.cost_nano / self.turns) if self.turns else None


class Beginning(NamedTuple):
    """The version with most misses of the main cause, and the first day of these."""

    agent: str
    version: str
    day: date


@dataclass(frozen=True, slots=True)
class PeriodLedger:
    """The ledger of a project from `first` to `last`, both included, in UTC."""

    first: date
    last: date
    kinds: Mapping[str, tuple[int, int]]  # tokens and nano-dollars by kind, without misses
    causes: Sequence[Cause]
    tools: Sequence[Tool]
    unused: Sequence[Unused]
    versions: Sequence[Version]
    beginning: Beginning | None

    @property
    def days(self) -> list[date]:
        return [self.first + timedelta(days=n) for n in range((self.last - self.first).days + 1)]

    @property
    def turns(self) -> int:
        return sum(version.turns for version in self.versions)

    def a_week(self, amount: int) -> int | None:
        """Return what an amount of the period is in seven days; None if calls began less than that ago."""
        begun = min((version.first for version in self.versions), default=self.last)
        days = (self.last - begun).days + 1
        return round(amount * WEEK / days) if days >= WEEK else None

    @property
    def context_nano(self) -> int:
        return sum(nano for kind, (_, nano) in self.kinds.items() if kind not in NOT_CONTEXT)

    @property
    def context_tokens(self) -> int:
        return sum(tokens for kind, (tokens, _) in self.kinds.items() if kind not in NOT_CONTEXT)

    @property
    def undivided_nano(self) -> int:
        return self.kinds.get(UNDIVIDED, (0, 0))[1]

    @property
    def cost_nano(self) -> int:
        return sum(nano for _, nano in self.kinds.values())

    @property
    def is_priced(self) -> bool:
        """Return whether any call has a cost that is divided between context and output."""
        return self.cost_nano > self.undivided_nano

    @property
    def lost(self) -> Loss:
        return _total(cause.whole for cause in self.causes)

    @property
    def is_loss_priced(self) -> bool:
        """Return whether losses are shown in money: not if only calls without a price lost any."""
        lost = self.lost
        return self.is_priced and (lost.nano > 0 or not lost.tokens)

    @property
    def total(self) -> Version:
        """Return all versions as one."""
        total = Version("", "", self.first, self.last)
        total.loss = _total(version.loss for version in self.versions)
        for name in ("turns", "context_nano", "cost_nano", "expected"):
            setattr(total, name, sum(getattr(version, name) for version in self.versions))
        return total

    def lost_on(self, day: date) -> Loss:
        return _total(cause.days[day] for cause in self.causes if day in cause.days)


def period_ledger(
    first: date,
    last: date,
    parts: Sequence[Part],
    missed: Sequence[Missed],
    called: Sequence[ToolCalls],
) -> PeriodLedger:
    """Return the figures; `called` are recorded calls of tools in a sample of the sessions."""
    kinds: dict[str, tuple[int, int]] = {}
    for part in parts:
        if part.kind != MISS:
            tokens, nano = kinds.get(part.kind, (0, 0))
            kinds[part.kind] = tokens + part.tokens, nano + part.nano
    causes = _causes(missed)
    return PeriodLedger(
        first,
        last,
        kinds,
        causes,
        tools_of(parts, called),
        unused_of(parts, called),
        _versions(parts, missed),
        _beginning(first, missed, causes[0].verdict) if causes else None,
    )


def _total(losses: Iterable[Loss]) -> Loss:
    total = Loss()
    for loss in losses:
        total = Loss(total.calls + loss.calls, total.tokens + loss.tokens, total.nano + loss.nano)
    return total


def _causes(missed: Iterable[Missed]) -> list[Cause]:
    """Return the causes, the largest loss first."""
    wholes: dict[str, Loss] = defaultdict(Loss)
    days: dict[str, dict[date, Loss]] = defaultdict(lambda: defaultdict(Loss))
    changes: dict[str, dict[str, Loss]] = defaultdict(lambda: defaultdict(Loss))
    for missed_part in missed:
        if missed_part.verdict not in NO_MISS and missed_part.lost_tokens:
            wholes[missed_part.verdict].add(missed_part)
            days[missed_part.verdict][missed_part.day].add(missed_part)
            changes[missed_part.verdict][missed_part.change].add(missed_part)
    order = sorted(wholes, key=lambda verdict: (*wholes[verdict].rank(), verdict))
    return [
        Cause(
            verdict,
            wholes[verdict],
            dict(days[verdict]),
            sorted(changes[verdict].items(), key=lambda item: (*item[1].rank(), item[0])),
        )
        for verdict in order
    ]


def _beginning(first: date, missed: Iterable[Missed], verdict: str) -> Beginning | None:
    """Return the version that has most misses of a cause, if it began after the first day of the period."""
    calls: dict[tuple[str, str], int] = defaultdict(int)
    since: dict[tuple[str, str], date] = {}
    for missed_part in missed:
        key = missed_part.agent, missed_part.version
        since[key] = min(missed_part.day, since.get(key, missed_part.day))
        if missed_part.verdict == verdict:
            calls[key] += missed_part.calls
    key = max(calls, key=lambda key: (calls[key], key))
    is_main = calls[key] > NEW_SHARE * sum(calls.values())
    return Beginning(*key, since[key]) if is_main and key[1] and since[key] > first else None


def _versions(parts: Iterable[Part], missed: Iterable[Missed]) -> list[Version]:
    """Return the versions of each agent, the largest loss first."""
    rows: dict[tuple[str, str], Version] = {}
    for part in parts:
        key = part.agent, part.version
        row = rows.setdefault(key, Version(*key, part.first, part.last))
        row.first, row.last = min(row.first, part.first), max(row.last, part.last)
        if part.kind == MISS:
            continue
        row.cost_nano += part.nano
        if part.kind == OUTPUT:
            row.turns += part.calls
        elif part.kind != UNDIVIDED:
            row.context_nano += part.nano
    for missed_part in missed:
        row = rows[missed_part.agent, missed_part.version]
        row.expected += missed_part.expected
        if missed_part.verdict not in NO_MISS:
            row.loss.add(missed_part)
    _mark_new(rows.values())
    return sorted(rows.values(), key=lambda row: (*row.loss.rank(), row.agent, row.version))


def _mark_new(rows: Collection[Version]) -> None:
    begun: dict[str, date] = {}
    for row in rows:
        begun[row.agent] = min(row.first, begun.get(row.agent, row.first))
    newest: dict[str, date] = {}
    for row in rows:
        newest[row.agent] = max(row.first, newest.get(row.agent, row.first))
    for row in rows:
        row.is_new = bool(row.version) and row.first == newest[row.agent] > begun[row.agent]

"""The floor of each agent: the system prompt and tool definitions that every call has, and how they grew.

A step is a time in which the floor of one version stayed the same: averages a call of a week, joined with the
weeks before while they differ by less than `SAME`. Pure. Cost: one pass over the sums of days.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import NamedTuple

from dashboard.shared.ledger_sums.figures import OUTPUT

SYSTEM, DEFINITION = "system", "tool_definition"
SAME = 0.05  # of the tokens of a step
WEEK = 7  # days


class OfDay(NamedTuple):
    """Calls, or tokens and nano-dollars of one kind, of one version of an agent on one day."""

    agent: str
    version: str
    day: date
    kind: str
    calls: int
    tokens: int
    nano: int


@dataclass(slots=True)
class FloorStep:
    """A floor from `first` to `last`: tokens and nano-dollars over all its calls.

    `before` is the step before it of the same agent.
    """

    agent: str
    version: str
    first: date
    last: date
    calls: int = 0
    system_tokens: int = 0
    tool_tokens: int = 0
    nano: int = 0
    before: FloorStep | None = None

    @property
    def tokens_each(self) -> int:
        return self.system_each + self.tools_each

    @property
    def system_each(self) -> int:
        return round(self.system_tokens / self.calls)

    @property
    def tools_each(self) -> int:
        return round(self.tool_tokens / self.calls)

    @property
    def nano_each(self) -> int:
        return round(self.nano / self.calls)

    @property
    def growth(self) -> float | None:
        """Return by which part of the floor before it grew; None for the first, or after none."""
        if self.before is None or not self.before.tokens_each:
            return None
        return self.tokens_each / self.before.tokens_each - 1

    @property
    def shrunk(self) -> float | None:
        return None if self.growth is None else -self.growth

    def add(self, other: FloorStep) -> None:
        """Go on with what was found later."""
        self.last = max(self.last, other.last)
        for name in ("calls", "system_tokens", "tool_tokens", "nano"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


def steps(rows: Iterable[OfDay]) -> list[FloorStep]:
    """Return the steps of rows in any order."""
    steps_of: dict[str, list[FloorStep]] = defaultdict(list)
    for (agent, _), weeks in sorted(_weeks(rows).items()):
        last: FloorStep | None = None
        for week in sorted(weeks, key=lambda week: week.first):
            if last is not None and abs(week.tokens_each - last.tokens_each) < SAME * last.tokens_each:
                last.add(week)
            else:
                last = week
                steps_of[agent].append(week)
    for of_agent in steps_of.values():
        of_agent.sort(key=lambda step: (step.first, step.last, step.version))
        for before, step in pairwise(of_agent):
            step.before = before
    dearest = sorted(steps_of, key=lambda agent: (*_rank(steps_of[agent]), agent))
    return [step for agent in dearest for step in steps_of[agent]]


def _rank(of_agent: Sequence[FloorStep]) -> tuple[int, int]:
    tokens = sum(step.system_tokens + step.tool_tokens for step in of_agent)
    return -sum(step.nano for step in of_agent), -tokens


def _weeks(rows: Iterable[OfDay]) -> Mapping[tuple[str, str], Sequence[FloorStep]]:
    """Return the weeks of each version with calls and a floor; they begin on Mondays."""
    by_week: dict[tuple[str, str, int], FloorStep] = {}
    for row in rows:
        step = FloorStep(row.agent, row.version, row.day, row.day)
        if row.kind == OUTPUT:
            step.calls = row.calls
        elif row.kind == SYSTEM:
            step.system_tokens, step.nano = row.tokens, row.nano
        else:
            step.tool_tokens, step.nano = row.tokens, row.nano
        key = row.agent, row.version, (row.day.toordinal() - 1) // WEEK
        week = by_week.setdefault(key, FloorStep(row.agent, row.version, row.day, row.day))
        week.first = min(week.first, row.day)
        week.add(step)
    weeks: dict[tuple[str, str], list[FloorStep]] = defaultdict(list)
    for (agent, version, _), week in by_week.items():
        if week.calls and week.system_tokens + week.tool_tokens:
            weeks[agent, version].append(week)
    return weeks

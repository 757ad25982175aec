"""The branches of an evaluation side by side: configs, results, answers, turns."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from dashboard.pages.evaluations.config_differences import Difference, differences
from dashboard.pages.evaluations.detail_params import ANSWERS, Params
from dashboard.pages.evaluations.queries.answers import Answer, answers
from dashboard.pages.evaluations.queries.groups import Branch, Group, groups
from dashboard.pages.evaluations.queries.turns import turns
from dashboard.pages.evaluations.results import Figures, Row, results
from dashboard.pages.evaluations.turn_table import Step, Table, table
from dashboard.shared.config_diff import Setting
from dashboard.shared.usage_bar import kinds
from recorder.core.records import Json


@dataclass(frozen=True, slots=True)
class Choice:
    """A link of a switch."""

    words: str
    url: str
    is_on: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """The whole table; root of the panel evaluations/table."""

    pk: int
    branches: Sequence[Branch]
    every: Sequence[Branch]
    shown: Collection[int]
    is_settled: bool  # a branch was selected
    is_win: bool  # and not for want of a readable reply
    differing: Sequence[Difference]
    alike: Sequence[Setting]
    results: Sequence[Row]
    answers: Sequence[Answer | None]
    turns: Table
    asked: Params

    @property
    def columns(self) -> int:
        return len(self.branches) + 1

    @property
    def ways(self) -> Sequence[Choice]:
        """Return how answers can be shown."""
        words = ANSWERS | {"diff": "Changes from winner" if self.is_settled else "Changes from the first"}
        return [
            Choice(words[how], self.asked.but(answer=how) + "#answers", how == self.asked.answer)
            for how in ANSWERS
        ]

    @property
    def extents(self) -> Sequence[Choice]:
        """Return which turns can be shown."""
        only = self.asked.is_only_differences
        return [
            Choice("All turns", self.asked.but(is_only_differences=False, row=1) + "#turns", not only),
            Choice("Only differences", self.asked.but(is_only_differences=True, row=1) + "#turns", only),
        ]

    @property
    def kept(self) -> Sequence[tuple[str, str]]:
        """Return what the picker of branches keeps of the address."""
        return [pair for pair in self.asked.pairs().items() if pair[0] not in ("branches", "row")]

    @property
    def parting_url(self) -> str:
        return self.asked.but(row=self.turns.parting_row) + "#divergence"

    @property
    def earlier(self) -> str:
        first = self.turns.first
        return self.asked.but(row=max(first - 1, 1)) + "#turns" if first > 1 else ""

    @property
    def later(self) -> str:
        last = self.turns.last
        return self.asked.but(row=last + 1) + "#turns" if last < self.turns.total else ""


@dataclass(frozen=True, slots=True)
class Tables:
    """The query of the panel for pages that ask for this."""

    asked: Params

    def __call__(self, pks: Collection[int]) -> Mapping[int, Comparison]:
        return {pk: comparison(group, self.asked) for pk, group in groups(pks).items()}


def comparison(group: Group, asked: Params) -> Comparison:
    """Return a group's branches side by side. Three queries beside those of the group."""
    winner = group.winner
    shown = asked.chosen(winner.number if winner else None, len(group.branches))
    branches = group.numbered(shown)
    differing, alike = differences([_snapshot(branch) for branch in branches])
    compared = turns(branches)
    return Comparison(
        pk=group.record.pk,
        branches=branches,
        every=group.branches,
        shown=shown,
        is_settled=winner is not None,
        is_win=group.record.verdict != "fallback",
        differing=differing,
        alike=alike,
        results=results(
            [_figures(*pair) for pair in zip(branches, (each.steps for each in compared), strict=True)]
        ),
        answers=answers(branches, asked.answer),
        turns=table(compared, first=asked.row, is_only_differences=asked.is_only_differences),
        asked=asked,
    )


def _figures(branch: Branch, steps: Sequence[Step]) -> Figures:
    loop = branch.loop
    return Figures(
        has_started=loop.started_at is not None,
        has_completed=branch.state == "completed",
        duration_ms=branch.duration_ms,
        cost=loop,
        kinds=kinds(loop),
        turns=loop.turns,
        tool_calls=loop.tool_calls,
        failed_tools=sum(step.failed_tools for step in steps),
    )


def _snapshot(branch: Branch) -> Json:
    config = branch.loop.config
    return config.snapshot if config else None

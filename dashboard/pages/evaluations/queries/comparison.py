"""Comparison of the branches of an evaluation: configs, results, answers, turns."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from dashboard.comparison.config_differences import SettingsSection, differences
from dashboard.comparison.queries import turns_of_loops
from dashboard.comparison.turn_section import Choice, TurnSection
from dashboard.comparison.turn_table import AlignedTurn, table
from dashboard.comparison.turn_table import Branch as Turns
from dashboard.pages.evaluations.detail_params import ANSWERS, DetailParams
from dashboard.pages.evaluations.queries.answers import Answer, answers
from dashboard.pages.evaluations.queries.groups import Branch, Group, groups
from dashboard.pages.evaluations.results import FigureRow, Figures, results
from dashboard.shared.usage_bar import kinds
from recorder.core.records import Json


@dataclass(frozen=True, slots=True)
class Comparison:
    """The whole table; root of the panel evaluations/table."""

    pk: int
    branches: Sequence[Branch]
    every: Sequence[Branch]
    shown: Collection[int]
    is_settled: bool  # a branch was selected
    is_win: bool  # False for a fallback selection
    settings: SettingsSection
    results: Sequence[FigureRow]
    answers: Sequence[Answer | None]
    turns: TurnSection
    params: DetailParams

    @property
    def columns(self) -> int:
        return len(self.branches) + 1

    @property
    def ways(self) -> Sequence[Choice]:
        """Return the display modes of answers."""
        words = ANSWERS | {"diff": "Changes from winner" if self.is_settled else "Changes from the first"}
        return [
            Choice(words[how], self.params.but(answer=how) + "#answers", how == self.params.answer)
            for how in ANSWERS
        ]

    @property
    def hidden_fields(self) -> Sequence[tuple[str, str]]:
        """Return the parameters that the branch selection sends as hidden fields."""
        return [pair for pair in self.params.pairs().items() if pair[0] not in ("branches", "row")]


@dataclass(frozen=True, slots=True)
class Tables:
    """Query of the table panel for given parameters."""

    params: DetailParams

    def __call__(self, pks: Collection[int]) -> Mapping[int, Comparison]:
        return {pk: comparison(group, self.params) for pk, group in groups(pks).items()}


def comparison(group: Group, params: DetailParams) -> Comparison:
    """Return the comparison of a group's branches. Three queries in addition to those of the group."""
    branches = _chosen(group, params)
    differing, equal_settings = differences([[_snapshot(branch)] for branch in branches])
    compared = _turns(branches)
    return Comparison(
        pk=group.record.pk,
        branches=branches,
        every=group.branches,
        shown=[branch.number for branch in branches],
        is_settled=group.winner is not None,
        is_win=group.record.verdict != "fallback",
        settings=SettingsSection("Config", differing, equal_settings, columns=len(branches) + 1),
        results=results(
            [
                _figures(*pair)
                for pair in zip(branches, (branch_turns.steps for branch_turns in compared), strict=True)
            ]
        ),
        answers=answers(branches, params.answer),
        turns=_turn_section(compared, params),
        params=params,
    )


def turns_of(group: Group, params: DetailParams) -> TurnSection:
    """Return the turns of a group's branches side by side. Two queries."""
    return _turn_section(_turns(_chosen(group, params)), params)


def _chosen(group: Group, params: DetailParams) -> Sequence[Branch]:
    winner = group.winner
    return group.numbered(params.chosen(winner.number if winner else None, len(group.branches)))


def _turns(branches: Sequence[Branch]) -> Sequence[Turns]:
    steps = turns_of_loops([branch.pk for branch in branches])
    return [Turns(steps[branch.pk], branch.url, branch.is_open) for branch in branches]


def _turn_section(compared: Sequence[Turns], params: DetailParams) -> TurnSection:
    return TurnSection(
        table=table(compared, first=params.row, is_only_differences=params.is_only_differences),
        what="branch",
        count=len(compared),
        is_only_differences=params.is_only_differences,
        link=params.but,
    )


def _figures(branch: Branch, steps: Sequence[AlignedTurn]) -> Figures:
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

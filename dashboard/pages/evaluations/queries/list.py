"""List of evaluations: filter, rows and filter options."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, OuterRef, QuerySet

from dashboard.pages.evaluations.list_params import COLUMNS, MENUS, VERDICTS, Filters
from dashboard.pages.evaluations.queries.groups import BEGAN, Branch, Group, began_at, groups
from dashboard.query_conditions.box import parsed
from dashboard.query_conditions.conditions import evaluation_condition
from dashboard.rendering.number_format import NONE, money
from dashboard.shared.queries.config_labels import chips
from dashboard.shared.queries.costs import Cost
from dashboard.web import links
from dashboard.web.filters import Menu, choices, config_options
from dashboard.web.time_range import time_range
from recorder.models import LoopRecord, ModelConfig, ParallelGroupRecord, Turn


@dataclass(frozen=True, slots=True)
class EvaluationRow:
    """One evaluation; root of the panel evaluations/row."""

    pk: int
    url: str
    title: str
    session_title: str
    state: str
    verdict: str
    verdict_words: str
    branches: Sequence[Branch]
    winner: Branch | None
    total: Cost
    overhead: float | None
    winner_cost: str
    runner_up_cost: str
    margin: str  # in words, "" when unknown
    at: datetime | None
    ended_at: datetime | None
    columns: tuple[str, ...]  # after the first


def of_project(project: int) -> QuerySet[ParallelGroupRecord]:
    return ParallelGroupRecord.objects.filter(session__project=project)


def matching(project: int, filters: Filters, now: datetime) -> QuerySet[ParallelGroupRecord]:
    """Return the evaluations that match the filters, unordered; `began_at` is their time."""
    query = parsed(filters.q).on(evaluation_condition, project, now, filters.reader)
    rows = of_project(project).filter(query).annotate(began_at=BEGAN)
    if filters.session:
        rows = rows.filter(session=filters.session)
    return rows.filter(**time_range(filters, now).within("began_at"))


def menus(project: int, filters: Filters) -> Sequence[Menu]:
    """Return the configs that took part in evaluations, as branches and as winners. Three queries."""
    used = LoopRecord.objects.filter(config=OuterRef("pk"), group__isnull=False)
    found = ModelConfig.objects.filter(Exists(used), project=project).values_list("pk", flat=True)
    switched = LoopRecord.objects.filter(
        session__project=project, has_switched=True, group__isnull=False
    ).values("pk")
    later = Turn.objects.filter(loop__in=switched, config__isnull=False).values_list("config_id", flat=True)
    configs = chips({*found, *filter(None, later.distinct())}).values()
    chosen = filters.chosen
    return MENUS.on(
        (
            Menu("Configs (all of)", config_options("config", configs, chosen.get("config", ()))),
            Menu("Winner", config_options("winner", configs, chosen.get("winner", ()))),
            Menu("Verdict", choices("verdict", VERDICTS, chosen.get("evaluation", ()))),
        )
    )


def sessions(pks: Collection[int]) -> Mapping[int, int]:
    """Return the session of each evaluation. One query."""
    return dict(ParallelGroupRecord.objects.filter(pk__in=pks).values_list("pk", "session_id"))


def rows(
    project: int, pks: Collection[int], columns: tuple[str, ...] = COLUMNS.usual
) -> Mapping[int, EvaluationRow]:
    """Return the rows of the evaluations that belong to the project. Three queries."""
    return {pk: _row(group, columns) for pk, group in groups(pks).items() if group.project.pk == project}


def runner_up(group: Group) -> Branch | None:
    """Return the cheapest completed branch beside the winner; only if every such branch has a price."""
    others = [
        branch for branch in group.branches if branch is not group.winner and branch.state == "completed"
    ]
    if group.winner is None or not all(map(_is_priced, others)):
        return None
    return min(others, key=lambda branch: branch.loop.cost_nano or 0, default=None)


def _is_priced(branch: Branch) -> bool:
    return branch.loop.cost_nano is not None and not branch.loop.unpriced


def _cost(branch: Branch | None) -> str:
    return NONE if branch is None else money(branch.loop.cost_nano, branch.loop.unpriced)


def _margin(winner: Branch | None, other: Branch | None) -> str:
    """Return by how much the runner-up cost more or less than the winner; "" when one has no price."""
    if winner is None or other is None or not _is_priced(winner):
        return ""
    more = (winner.loop.cost_nano or 0) - (other.loop.cost_nano or 0)
    return f"{money(abs(more))} {'less' if more > 0 else 'more'}" if more else "the same"


def end_of(group: Group) -> datetime | None:
    """Return the time at which the duration of an evaluation ends; None while it runs."""
    if group.state == "stale":
        return group.session.last_event_at
    return None if group.is_running else group.record.ended_at


def _row(group: Group, columns: tuple[str, ...]) -> EvaluationRow:
    record, other = group.record, runner_up(group)
    return EvaluationRow(
        pk=record.pk,
        url=links.evaluation(group.project.slug, record.pk),
        title=group.title,
        session_title=group.session.title or group.session.session_id,
        state=group.state,
        verdict=record.verdict,
        verdict_words=VERDICTS.get(record.verdict, record.verdict),
        branches=group.branches,
        winner=group.winner,
        total=group.totals.total,
        overhead=group.totals.overhead_ratio,
        winner_cost=_cost(group.winner),
        runner_up_cost=_cost(other),
        margin=_margin(group.winner, other),
        at=began_at(record),
        ended_at=end_of(group),
        columns=columns,
    )

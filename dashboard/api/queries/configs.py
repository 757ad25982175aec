"""The list of configs in leaderboard order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.api import leaderboard
from dashboard.api.params import OfConfigs
from dashboard.api.queries.list_endpoint import ListEndpoint, by_offset
from dashboard.query_conditions.conditions import evaluation_condition
from dashboard.shared.queries.config_labels import Chip
from dashboard.shared.queries.costs import usd
from dashboard.shared.session_json.schemas import Config
from dashboard.shared.session_json.usage import config
from dashboard.shared.standings.queries.groups import Groups, read_groups
from dashboard.shared.standings.tally import Standing, standings
from recorder.models import ModelConfig, Project


@dataclass(frozen=True, slots=True)
class _Ranked:
    standing: Standing
    chip: Chip


def _rows(project: Project, params: OfConfigs) -> list[_Ranked]:
    filters = params.task.strip(), tuple(params.agent), tuple(params.judge)
    query = params.condition(evaluation_condition, project) if params.q else None
    read = read_groups(Groups(project.pk, params.since, params.until, *filters, query))
    return [_Ranked(row, read.chips[row.config]) for row in standings(read.results, read.p95_ms)]


def _items(project: Project, _: OfConfigs, rows: Sequence[_Ranked]) -> list[leaderboard.StandingItem]:
    configs = ModelConfig.objects.in_bulk([row.standing.config for row in rows])
    return [_item(row.standing, config(configs[row.standing.config], row.chip)) for row in rows]


def _item(standing: Standing, named: Config | None) -> leaderboard.StandingItem:
    interval = standing.interval
    assert named is not None
    return leaderboard.StandingItem(
        config=named,
        rank=standing.rank,
        groups=standing.groups,
        judged=standing.judged,
        wins=standing.wins,
        win_rate=standing.rate,
        ci_low=interval.low if interval else None,
        ci_high=interval.high if interval else None,
        cost_usd=usd(standing.cost.rounded),
        cost_per_task_usd=usd(standing.per_task.rounded),
        cost_per_win_usd=usd(standing.per_win.rounded),
        unpriced=bool(standing.cost.unpriced),
        p95_ms=standing.p95_ms,
        cache_hit_rate=standing.cache_hits,
        wins_by_position=list(standing.places),
        ruled=standing.ruled,
        picked_by_rule=standing.picked,
        fallback=standing.fallback,
    )


CONFIGS = ListEndpoint(response=leaderboard.Standings, rows=_rows, cut=by_offset, items=_items)

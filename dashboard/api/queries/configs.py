"""Configs as the leaderboard ranks them, as items of the read API."""

from __future__ import annotations

from collections.abc import Mapping

from dashboard.api import leaderboard
from dashboard.api.params import OfConfigs
from dashboard.shared.config_labels import Chip
from dashboard.shared.costs import usd
from dashboard.shared.session_json.usage import config
from dashboard.shared.standings.queries import Groups, read_groups
from dashboard.shared.standings.tally import Standing, standings
from recorder.models import ModelConfig, Project


def configs(project: Project, asked: OfConfigs) -> leaderboard.Standings:
    """Return a page of configs, the first of the ranking first."""
    wanted = asked.task.strip(), tuple(asked.agent), tuple(asked.judge)
    read = read_groups(Groups(project.pk, asked.since, asked.until, *wanted))
    ranked = standings(read.results, read.p95_ms)
    shown = ranked[asked.cursor : asked.cursor + asked.limit]
    rows = ModelConfig.objects.in_bulk([standing.config for standing in shown])
    after = asked.cursor + len(shown)
    return leaderboard.Standings(
        items=[_item(standing, rows, read.chips) for standing in shown],
        next=str(after) if after < len(ranked) else None,
        total=len(ranked),
    )


def _item(
    standing: Standing, rows: Mapping[int, ModelConfig], chips: Mapping[int, Chip]
) -> leaderboard.StandingItem:
    interval = standing.interval
    named = config(rows[standing.config], chips[standing.config])
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

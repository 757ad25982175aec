"""Schemas of the list of configs in leaderboard order."""

from __future__ import annotations

from pydantic import BaseModel

from dashboard.api.schemas import ResultPage
from dashboard.shared.session_json.schemas import Config


class StandingItem(BaseModel):
    """A config's rank among configs that ran the same tasks; only judged groups count.

    Rates are null without a judged group, costs when no part has a price; `unpriced` is true when some parts
    have none. `rank` is null below 20 judged groups. Positions are those of the branches in their groups.
    """

    config: Config
    rank: int | None
    groups: int
    judged: int
    wins: int
    win_rate: float | None
    ci_low: float | None
    ci_high: float | None
    cost_usd: str | None
    cost_per_task_usd: str | None
    cost_per_win_usd: str | None
    unpriced: bool
    p95_ms: int | None
    cache_hit_rate: float | None
    wins_by_position: list[int]
    ruled: int
    picked_by_rule: int
    fallback: int


class Standings(ResultPage):
    items: list[StandingItem]

"""The mean of a score by config: an outcome of the leaderboard beside wins, never mixed with them.

A score on a loop, or on a turn or event of it, counts for the config with which the loop began. Scores of
categories have no mean. Cost: two queries; the database aggregates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Avg, Count, F, OuterRef, Subquery, Sum

from dashboard.shared.queries.config_labels import Chip, chips
from dashboard.shared.queries.session_filter import Wanted, matching
from dashboard.shared.standings.queries.groups import Groups
from dashboard.shared.standings.statistics import Interval, mean_interval
from recorder.models import LoopRecord, Note, ScoreDefinition


@dataclass(frozen=True, slots=True)
class ScoreStanding:
    """One config; `interval` is None for fewer than LEAST scores."""

    config: int
    count: int
    mean: float
    interval: Interval | None

    @property
    def low(self) -> float | None:
        return self.interval.low if self.interval else None

    @property
    def high(self) -> float | None:
        return self.interval.high if self.interval else None


@dataclass(frozen=True, slots=True)
class ScoreStandings:
    """The configs by mean, best first, and their chips."""

    rows: Sequence[ScoreStanding]
    chips: Mapping[int, Chip]

    @property
    def shown(self) -> Sequence[tuple[Chip, ScoreStanding]]:
        return [(self.chips[row.config], row) for row in self.rows]


def outcomes(project: int) -> list[str]:
    """Return the names of the scores that have a mean: numbers, and yes or no. One query."""
    defined = ScoreDefinition.objects.filter(project=project).exclude(kind=ScoreDefinition.Kind.CATEGORY)
    return list(defined.order_by("name").values_list("name", flat=True))


def score_standings(groups: Groups, name: str) -> ScoreStandings:
    """Return the configs by the mean of a score; times are when the score was given."""
    rows = Note.objects.filter(
        project=groups.project, kind=Note.Kind.SCORE, name=name, number__isnull=False, loop__isnull=False
    )
    if groups.since:
        rows = rows.filter(created_at__gte=groups.since)
    if groups.until:
        rows = rows.filter(created_at__lte=groups.until)
    if groups.task or groups.agent:
        sessions = matching(groups.project, Wanted(q=groups.task, agent=groups.agent))
        rows = rows.filter(session_id__in=sessions.values("session_id"))
    if groups.query_of_loops is not None:
        loops = LoopRecord.objects.filter(groups.query_of_loops, session__project=groups.project)
        rows = rows.filter(loop__in=loops)
    of_loop = LoopRecord.objects.filter(pk=OuterRef("loop"), session__project=groups.project)
    found = (
        rows.order_by()
        .annotate(config=Subquery(of_loop.values("config")[:1]))
        .filter(config__isnull=False)
        .values_list("config")
        .annotate(n=Count("pk"), mean=Avg("number"), squares=Sum(F("number") * F("number")))
    )
    standings = [
        ScoreStanding(config, n, mean, mean_interval(n, mean, squares)) for config, n, mean, squares in found
    ]
    standings.sort(key=lambda row: (-row.mean, -row.count, row.config))
    return ScoreStandings(standings, chips({row.config for row in standings}))

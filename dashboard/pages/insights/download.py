"""All insights of a list for a download."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dashboard.pages.insights import queries
from dashboard.pages.insights.params import NEWEST, InsightsParams
from dashboard.web.lists.download import Value, chunked
from recorder.models import Project

HEADER = (
    *("id", "kind", "agent_id", "steps", "about", "text", "times", "worked", "loops", "median_ms"),
    *("first_seen_at", "last_seen_at", "dismissed_at", "dismissed_by"),
)


def chunks(project: Project, params: InsightsParams) -> Iterator[Sequence[Sequence[Value]]]:
    """Yield the insights that match, in the order of the list. Three queries a chunk."""

    def read(pks: list[int]) -> list[Sequence[Value]]:
        return [_values(row) for row in queries.rows(project, pks)]

    return chunked(NEWEST.sort(queries.matching(project.pk, params)), read)


def _values(row: queries.InsightRow) -> Sequence[Value]:
    return (
        *(row.pk, row.kind, row.agent_id, tuple(row.steps), row.about, row.text),
        *(row.times, row.worked, row.loops, row.median_ms, row.first_at, row.last_at),
        *(row.dismissed_at, row.dismissed_by),
    )

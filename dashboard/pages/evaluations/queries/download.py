"""All evaluations of a list for a download."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from dashboard.pages.evaluations.list_params import NEWEST, Filters
from dashboard.pages.evaluations.queries.groups import Branch, Group, began_at, groups
from dashboard.pages.evaluations.queries.list import end_of, matching, runner_up
from dashboard.web import links
from dashboard.web.lists.download import Value, chunked, dollars
from recorder.models import Project

HEADER = (
    *("id", "title", "session_id", "session_title", "status", "verdict", "branches", "winner"),
    *("total_cost_usd", "unpriced_calls", "overhead_ratio", "winner_cost_usd", "runner_up_cost_usd"),
    *("started_at", "ended_at", "url"),
)


def chunks(project: Project, filters: Filters, now: datetime) -> Iterator[Sequence[Sequence[Value]]]:
    """Yield the evaluations that match, newest first. Four queries a chunk at most."""
    rows = NEWEST.sort(matching(project.pk, filters, now))

    def read(pks: list[int]) -> list[Sequence[Value]]:
        found = groups(pks)
        return [_values(found[pk]) for pk in pks if pk in found]

    return chunked(rows, read)


def _values(group: Group) -> Sequence[Value]:
    record, total = group.record, group.totals
    return (
        *(record.pk, group.title, group.session.session_id, group.session.title, group.state, record.verdict),
        *(tuple(branch.label for branch in group.branches), group.winner.label if group.winner else None),
        *(dollars(total.total.cost_nano), total.total.unpriced, total.overhead_ratio),
        *(_cost(group.winner), _cost(runner_up(group)), began_at(record), end_of(group)),
        links.evaluation(group.project.slug, record.pk),
    )


def _cost(branch: Branch | None) -> Value:
    return None if branch is None else dollars(branch.loop.cost_nano)

"""Head of an evaluation: title, state, verdict text and cost shares."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from dashboard.pages.evaluations.cost_shares import Part, Share, bar, shares
from dashboard.pages.evaluations.list_params import NEWEST
from dashboard.pages.evaluations.queries.groups import BEGAN, Branch, Group, began_at, groups
from dashboard.pages.evaluations.verdict_text import Decision, Standing, Words, words
from dashboard.rendering.number_format import plural
from dashboard.shared.queries.costs import Cost
from dashboard.shared.usage_bar import Segment
from dashboard.web import links
from dashboard.web.keyset import EPOCH, Cursor
from recorder.core.records import Verdict
from recorder.models import ParallelGroupRecord


@dataclass(frozen=True, slots=True)
class Head:
    """One evaluation's head; root of the panel evaluations/header."""

    pk: int
    url: str
    title: str
    session_title: str
    session_url: str
    evaluations_url: str
    state: str
    last_event_at: datetime  # of the session
    how: str  # number of branches and how the winner was selected
    at: datetime | None
    verdict: Verdict
    words: Words
    tone: str
    total: Cost
    bar: Sequence[Segment]
    shares: Sequence[Share]
    previous: str
    next: str


def heads(pks: Collection[int]) -> Mapping[int, Head]:
    """Return heads by primary key. Five queries for one group."""
    return {pk: head(group) for pk, group in groups(pks).items()}


def head(group: Group) -> Head:
    """Return the head of a group. Two queries."""
    record, slug = group.record, group.project.slug
    previous, following = _neighbours(record)
    parts = _parts(group)
    verdict_words = words(_decision(group), [_standing(branch) for branch in group.branches])
    first = group.winner or next(iter(group.branches), None)
    return Head(
        pk=record.pk,
        url=links.evaluation(slug, record.pk),
        title=group.title,
        session_title=group.session.title or group.session.session_id,
        session_url=first.url if first else links.session(slug, record.session_id),
        evaluations_url=links.evaluations(slug),
        state=group.state,
        last_event_at=group.session.last_event_at,
        how=f"{plural(len(group.branches), 'branch,branches')}, {_chosen_by(group)}",
        at=record.ended_received_at or record.ended_at or began_at(record),
        verdict=record.verdict,  # type: ignore[arg-type]  # a column of one of its words
        words=verdict_words,
        tone="winner" if record.verdict == "judged" else "rejected" if record.verdict == "fallback" else "",
        total=group.totals.total,
        bar=bar(parts),
        shares=shares(parts),
        previous=links.evaluation(slug, previous) if previous else "",
        next=links.evaluation(slug, following) if following else "",
    )


def _chosen_by(group: Group) -> str:
    judge = group.judge.label if group.judge and group.judge.chip else "a judge"
    match group.record.verdict:
        case "judged":
            return f"judged by {judge}"
        case "rule":
            return "selected by a rule"
        case "fallback":
            return f"judged by {judge}, without a usable reply"
    return group.state if group.is_running else "not decided"


def _decision(group: Group) -> Decision:
    winner = group.winner
    return Decision(
        kind=group.record.verdict,  # type: ignore[arg-type]  # as above
        status=group.state,
        winner=winner.number if winner else None,
        named=group.record.named,
        has_judge=group.judge is not None,
    )


def _parts(group: Group) -> Sequence[Part]:
    """Return the cost of each loop that has a price: the winner first, the judge last."""
    winner, judge = group.winner, [group.judge] if group.judge else []
    others = [branch for branch in group.branches if branch is not winner]
    who = "other branches" if winner else "branches"
    chosen = "selected" if group.record.verdict == "fallback" else "winner"
    labelled = [
        *([(chosen, winner)] if winner else []),
        *((who, branch) for branch in others),
        *(("judge", branch) for branch in judge),
    ]
    return [
        Part(name, _colour(branch), branch.loop.cost_nano)
        for name, branch in labelled
        if branch.loop.cost_nano
    ]


def _colour(branch: Branch) -> str:
    return f"config-{branch.chip.slot}" if branch.chip else "event-turn"


def _standing(branch: Branch) -> Standing:
    state = "pending" if branch.state == "unstarted" else branch.state
    cost = None if branch.loop.unpriced else branch.loop.cost_nano
    return Standing(branch.number, branch.label, state, cost, branch.tokens, branch.duration_ms)


def _neighbours(record: ParallelGroupRecord) -> Sequence[int | None]:
    """Return the evaluations before and after one in the order of the list. Two queries."""
    rows = ParallelGroupRecord.objects.filter(session__project=record.session.project_id)
    rows, here = rows.annotate(began_at=BEGAN), Cursor(began_at(record) or EPOCH, record.pk)
    found = [order.cursors(order.after(rows, here), 1) for order in (NEWEST, NEWEST.backwards)]
    return [next((cursor.pk for cursor in cursors), None) for cursors in found]

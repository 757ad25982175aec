"""Judge panel of an evaluation that has ended: reply, usage and share of the cost."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date, datetime

from dashboard.pages.evaluations.queries.answers import SHOWN, Reply, reply
from dashboard.pages.evaluations.queries.groups import Branch, Group, groups
from dashboard.shared.session_state import end_of_loop
from dashboard.shared.usage_bar import kinds
from recorder.models import LoopRecord, ParallelGroupRecord


@dataclass(frozen=True, slots=True)
class Judge:
    """One evaluation's judge; root of the panel evaluations/judge."""

    pk: int
    verdict: str
    judge: Branch | None
    record: ParallelGroupRecord
    reply: str
    is_cut: bool
    pruned_on: date | None  # when the reply was pruned
    share: float | None  # of the group's cost; None unless every call has a price
    extra: int | None  # nano-dollars paid in addition to the winner

    @property
    def tokens(self) -> int:
        """Return the tokens of the evaluation as the end of the group reports them."""
        return sum(kind.count for kind in kinds(self.record))

    @property
    def loop(self) -> LoopRecord | None:
        return self.judge.loop if self.judge else None

    @property
    def loop_ended_at(self) -> datetime | None:
        return end_of_loop(self.judge.loop) if self.judge else None

    @property
    def ended_at(self) -> datetime | None:
        return self.record.ended_at


def judges(pks: Collection[int]) -> Mapping[int, Judge]:
    """Return judges by primary key of their group. Four queries for one group."""
    return {pk: judge_of(group) for pk, group in groups(pks).items()}


def judge_of(group: Group) -> Judge:
    """Return the judge of a group. Two queries, three when its reply was pruned."""
    judge = None if group.is_running else group.judge
    answer = reply(judge.pk) if judge else Reply()
    totals = group.totals
    total = None if totals.total.unpriced else totals.total.cost_nano
    winner = totals.winner.cost_nano if totals.winner else None
    judge_nano = judge.loop.cost_nano if judge else None
    return Judge(
        pk=group.record.pk,
        verdict=group.record.verdict,
        judge=judge,
        record=group.record,
        reply=answer.text[:SHOWN],
        is_cut=len(answer.text) > SHOWN,
        pruned_on=answer.pruned_on,
        share=judge_nano / total if total and judge_nano is not None else None,
        extra=None if total is None or winner is None else total - winner,
    )

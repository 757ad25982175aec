"""The judge of an evaluation that has answered: what it said, what it used."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date, datetime

from dashboard.pages.evaluations.queries.answers import SHOWN, Reply, reply
from dashboard.pages.evaluations.queries.groups import Branch, Group, groups
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
    pruned_on: date | None  # the reply, if it was
    share: float | None  # of what the group cost, when all of it has a price
    extra: int | None  # nano-dollars that were paid beside the winner

    @property
    def spent(self) -> int:
        """Return the tokens of the evaluation as the group's end gives them."""
        return sum(kind.count for kind in kinds(self.record))

    @property
    def loop(self) -> LoopRecord | None:
        return self.judge.loop if self.judge else None

    @property
    def ended_at(self) -> datetime | None:
        return self.record.ended_at


def judges(pks: Collection[int]) -> Mapping[int, Judge]:
    """Return judges. Four queries for one."""
    return {pk: _judge(group) for pk, group in groups(pks).items()}


def _judge(group: Group) -> Judge:
    judge = None if group.is_running else group.judge
    said = reply(judge.pk) if judge else Reply()
    totals = group.totals
    total = None if totals.total.unpriced else totals.total.cost_nano
    winner = totals.winner.cost_nano if totals.winner else None
    mine = judge.loop.cost_nano if judge else None
    return Judge(
        pk=group.record.pk,
        verdict=group.record.verdict,
        judge=judge,
        record=group.record,
        reply=said.text[:SHOWN],
        is_cut=len(said.text) > SHOWN,
        pruned_on=said.pruned_on,
        share=mine / total if total and mine is not None else None,
        extra=None if total is None or winner is None else total - winner,
    )

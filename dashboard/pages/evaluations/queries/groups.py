"""Parallel groups with their branches and judges: the base query of every panel of the page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import DateTimeField, OuterRef, Subquery, Value
from django.db.models.functions import Coalesce

from dashboard.shared.queries.config_labels import AnsweredBy, Chip, answered_by, chips_of
from dashboard.shared.queries.costs import GroupTotals, group_totals
from dashboard.shared.series_colours import chart_chips
from dashboard.shared.session_state import OPEN, is_stale_loop, status_of_group
from dashboard.shared.usage_bar import kinds
from dashboard.web import links
from dashboard.web.keyset import EPOCH
from recorder.models import LoopRecord, ParallelGroupRecord, Project, Session, Turn, happened

UNFINISHED = (*OPEN, "waiting", "stale")
MS = timedelta(milliseconds=1)
BODIES = ("metadata", "error", "rejection", "continuation_tag")  # columns that may be large and are not shown

# The time of an evaluation: its start, else its end. Without either it sorts last.
BEGAN = Coalesce(happened("started"), happened("ended"), Value(EPOCH, DateTimeField()))


def began_at(group: ParallelGroupRecord) -> datetime | None:
    """Return the time of an evaluation, as `BEGAN` does; None without any."""
    started_at = group.started_received_at or group.started_at
    return started_at or group.ended_received_at or group.ended_at


@dataclass(frozen=True, slots=True)
class Branch:
    """One loop of a group. `answer_event` is the event that ended its last turn."""

    loop: LoopRecord
    number: int  # from 1, in config order
    chips: Sequence[Chip]  # of its configs: that of its start, then in order of first answers
    state: str
    label: str
    url: str
    answer_event: int | None

    @property
    def chip(self) -> Chip | None:
        """Return the chip of the config of its start."""
        return self.chips[0] if self.chips else None

    @property
    def configs(self) -> str:
        """Return the names of all its configs, for a title."""
        return ", ".join(chip.full for chip in self.chips)

    @property
    def pk(self) -> int:
        return self.loop.pk

    @property
    def is_winner(self) -> bool:
        return self.loop.is_selected is True

    @property
    def is_open(self) -> bool:
        return self.state in UNFINISHED

    @property
    def tokens(self) -> int:
        return sum(kind.count for kind in kinds(self.loop))

    @property
    def duration_ms(self) -> int | None:
        started, ended = self.loop.started_at, self.loop.ended_at
        return None if started is None or ended is None else max((ended - started) // MS, 0)


@dataclass(frozen=True, slots=True)
class Group:
    """A group, its branches in config order, and its judge."""

    record: ParallelGroupRecord
    branches: Sequence[Branch]
    judge: Branch | None

    @property
    def winner(self) -> Branch | None:
        return next((branch for branch in self.branches if branch.is_winner), None)

    @property
    def session(self) -> Session:
        return self.record.session

    @property
    def project(self) -> Project:
        return self.record.session.project

    @property
    def title(self) -> str:
        title = next((branch.loop.title for branch in self.branches if branch.loop.title), "")
        return title or self.session.title or "Untitled evaluation"

    @property
    def totals(self) -> GroupTotals:
        """Return the cost of the group: its branches, and its judge once."""
        judge = self.judge.loop if self.judge else None
        return group_totals([branch.loop for branch in self.branches], judge, self.record)

    @property
    def state(self) -> str:
        return status_of_group(self.record)

    @property
    def is_running(self) -> bool:
        return self.record.status == "running"

    def numbered(self, numbers: Collection[int]) -> Sequence[Branch]:
        """Return the branches with these numbers, in the given order."""
        by_number = {branch.number: branch for branch in self.branches}
        return [by_number[number] for number in numbers if number in by_number]


def groups(pks: Collection[int]) -> Mapping[int, Group]:
    """Return groups by primary key. Three queries, four if the turns of a branch had several configs.

    A group whose session is being deleted is left out: its project has no URL.
    """
    kept = ParallelGroupRecord.objects.filter(pk__in=pks).exclude(session__project__slug=Project.DELETING)
    records = kept.select_related("session__project", "judge__config")
    last = Turn.objects.filter(loop=OuterRef("pk")).order_by("-ordinal").values("end_event")[:1]
    loops: dict[int, list[LoopRecord]] = defaultdict(list)
    found = LoopRecord.objects.filter(group__in=pks).select_related("config").defer(*BODIES)
    for loop in found.annotate(answer_event=Subquery(last)).order_by("branch_index", "pk"):
        loops[loop.group_id or 0].append(loop)
    judges = [record.judge for record in records if record.judge]
    all_loops = [*judges, *(loop for branches in loops.values() for loop in branches)]
    answered = answered_by(all_loops)
    named = chips_of(answered)
    return {record.pk: _group(record, loops[record.pk], answered, named) for record in records}


def _group(
    record: ParallelGroupRecord,
    loops: Sequence[LoopRecord],
    answered: Mapping[int, AnsweredBy],
    named: Mapping[int, Chip],
) -> Group:
    judge = record.judge
    every = ([judge] if judge else []) + list(loops)
    used = dict.fromkeys(config for loop in every for config in answered[loop.pk].configs)
    named = chart_chips({config: named[config] for config in used if config in named})
    chips = {loop.pk: answered[loop.pk].chips(named) for loop in every}
    labels = [_label(loop, chips[loop.pk]) for loop in loops]
    branches = [
        _branch(
            record,
            loop,
            number,
            label if labels.count(label) == 1 else f"{label} (branch {number})",
            chips[loop.pk],
        )
        for number, (loop, label) in enumerate(zip(loops, labels, strict=True), 1)
    ]
    return Group(
        record,
        branches,
        None if judge is None else _branch(record, judge, 0, _label(judge, chips[judge.pk]), chips[judge.pk]),
    )


def _branch(
    record: ParallelGroupRecord, loop: LoopRecord, number: int, label: str, chips: Sequence[Chip]
) -> Branch:
    loop.session = record.session
    return Branch(
        loop=loop,
        number=number,
        chips=chips,
        state=_state(record, loop),
        label=label,
        url=links.loop(record.session.project.slug, record.session_id, loop.pk),
        answer_event=getattr(loop, "answer_event", None),
    )


def _label(loop: LoopRecord, chips: Sequence[Chip]) -> str:
    """Return the name of the config that a branch began with, by which sentences name it."""
    if not chips:
        return f"Branch {(loop.branch_index or 0) + 1}"
    return f"{chips[0].model} ({chips[0].parameter})" if chips[0].parameter else chips[0].model


def _state(record: ParallelGroupRecord, loop: LoopRecord) -> str:
    """Return the state of a branch; one still pending after the group's end is "unstarted"."""
    if loop.status == "pending" and record.status != "running":
        return "unstarted"
    if is_stale_loop(loop):
        return "stale"
    if loop.waiting:
        return "waiting"
    return loop.status if loop.status in OPEN else loop.outcome or loop.status

"""Parallel groups with their branches and judges: the base query of every panel of the page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import OuterRef, Subquery

from dashboard.shared.config_labels import Chip, chips
from dashboard.shared.costs import GroupTotals, group_totals
from dashboard.shared.series_colours import chart_chips
from dashboard.shared.usage_bar import kinds
from dashboard.web import links
from recorder.models import LoopRecord, ParallelGroupRecord, Project, Session, Turn

OPEN = ("pending", "running", "waiting")
MS = timedelta(milliseconds=1)
BODIES = ("metadata", "error", "rejection", "continuation_tag")  # columns that may be large and are not shown


@dataclass(frozen=True, slots=True)
class Branch:
    """One loop of a group. `answer_event` is the event that ended its last turn."""

    loop: LoopRecord
    number: int  # from 1, in config order
    chip: Chip | None
    state: str
    label: str
    url: str
    answer_event: int | None

    @property
    def pk(self) -> int:
        return self.loop.pk

    @property
    def is_winner(self) -> bool:
        return self.loop.is_selected is True

    @property
    def is_open(self) -> bool:
        return self.state in OPEN

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
    def is_running(self) -> bool:
        return self.record.status == "running"

    def numbered(self, numbers: Collection[int]) -> Sequence[Branch]:
        """Return the branches with these numbers, in the given order."""
        by_number = {branch.number: branch for branch in self.branches}
        return [by_number[number] for number in numbers if number in by_number]


def groups(pks: Collection[int]) -> Mapping[int, Group]:
    """Return groups by primary key. Three queries."""
    records = ParallelGroupRecord.objects.filter(pk__in=pks).select_related(
        "session__project", "judge__config"
    )
    last = Turn.objects.filter(loop=OuterRef("pk")).order_by("-ordinal").values("end_event")[:1]
    loops: dict[int, list[LoopRecord]] = defaultdict(list)
    found = LoopRecord.objects.filter(group__in=pks).select_related("config").defer(*BODIES)
    for loop in found.annotate(answer_event=Subquery(last)).order_by("branch_index", "pk"):
        loops[loop.group_id or 0].append(loop)
    judges = [record.judge for record in records if record.judge]
    all_loops = [*judges, *(loop for branches in loops.values() for loop in branches)]
    labels = chips({loop.config_id for loop in all_loops if loop.config_id})
    return {record.pk: _group(record, loops[record.pk], labels) for record in records}


def _group(record: ParallelGroupRecord, loops: Sequence[LoopRecord], named: Mapping[int, Chip]) -> Group:
    slug = record.session.project.slug
    used = [loop.config_id for loop in ([record.judge] if record.judge else []) + list(loops)]
    named = chart_chips({pk: named[pk] for pk in dict.fromkeys(used) if pk and pk in named})
    labels = [_label(loop, named) for loop in loops]
    branches = [
        _branch(
            slug,
            record,
            loop,
            number,
            label if labels.count(label) == 1 else f"{label} (branch {number})",
            named,
        )
        for number, (loop, label) in enumerate(zip(loops, labels, strict=True), 1)
    ]
    judge = record.judge
    return Group(
        record,
        branches,
        None if judge is None else _branch(slug, record, judge, 0, _label(judge, named), named),
    )


def _branch(
    slug: str,
    record: ParallelGroupRecord,
    loop: LoopRecord,
    number: int,
    label: str,
    named: Mapping[int, Chip],
) -> Branch:
    return Branch(
        loop=loop,
        number=number,
        chip=named.get(loop.config_id or 0),
        state=_state(record, loop),
        label=label,
        url=links.loop(slug, record.session_id, loop.pk),
        answer_event=getattr(loop, "answer_event", None),
    )


def _label(loop: LoopRecord, named: Mapping[int, Chip]) -> str:
    chip = named.get(loop.config_id or 0)
    if chip is None:
        return f"Branch {(loop.branch_index or 0) + 1}"
    return f"{chip.model} ({chip.parameter})" if chip.parameter else chip.model


def _state(record: ParallelGroupRecord, loop: LoopRecord) -> str:
    """Return the state of a branch; one still pending after the group's end is "unstarted"."""
    if loop.waiting:
        return "waiting"
    if loop.status == "pending" and record.status != "running":
        return "unstarted"
    return loop.status if loop.status in OPEN else loop.outcome or loop.status

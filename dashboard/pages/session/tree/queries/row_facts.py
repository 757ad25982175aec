"""Reads the data of tree rows that is not in the loop table."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Min, QuerySet

from dashboard.notes.queries.entries import of_loops
from dashboard.pages.session.tree.queries import outliers
from dashboard.rendering.number_format import tokens
from dashboard.shared.compiled_query import compiled
from dashboard.shared.queries.config_labels import answered_by, chips_of
from dashboard.shared.queries.costs import loops_with_sub_agents
from dashboard.shared.waste.queries import wastes
from recorder.models import Approval, Compaction, LoopRecord, ParallelGroupRecord, ToolCall, Turn


@dataclass(frozen=True, slots=True)
class CompactionCounts:
    """The compactions inside a loop, and the sizes reported by the last one."""

    count: int
    state: str
    tokens_before: int | None
    tokens_after: int | None
    messages_before: int | None
    messages_after: int | None
    started_at: datetime | None
    ended_at: datetime | None

    @property
    def words(self) -> str:
        """Return the sizes before and after, as far as they are known."""
        if self.state == "running":
            return "compacting"
        parts = []
        if self.tokens_before is not None and self.tokens_after is not None:
            parts.append(f"{tokens(self.tokens_before)} → {tokens(self.tokens_after)} tokens")
        if self.messages_before is not None and self.messages_after is not None:
            parts.append(f"{self.messages_before:,} → {self.messages_after:,} messages")
        return ", ".join(parts) or ("cut off" if self.state == "cut" else "compacted")


class Facts:
    """Data of some loops from other tables, by loop. A fixed number of queries."""

    def __init__(self, loops: Collection[LoopRecord]) -> None:
        pks = [loop.pk for loop in loops]
        judges = [loop.pk for loop in loops if loop.role == "judge"]
        self.superseded = set(_superseded_loops(pks))
        self.judged = {group.judge_id: group for group in _judged_groups(judges)}
        self.compaction_counts = _compaction_counts(
            [loop.pk for loop in loops if loop.compactions or loop.role == "compaction"]
        )
        self.waits = dict(_waits([loop.pk for loop in loops if loop.waiting]))
        self.cut = set(_cut_off_loops(pks))
        self.first_prompts = dict(_first_prompts({loop.group_id for loop in loops if loop.group_id}))
        self.whole = loops_with_sub_agents(loops)
        self.failed = dict(_failed_tool_counts([loop.pk for loop in loops if loop.errors]))
        self.answered_by = answered_by(loops)
        self.chips = chips_of(self.answered_by)
        self.notes = of_loops(loops)
        self.wastes = wastes.of_loops(pks)
        self.outliers = outliers.of_loops([loop.pk for loop in loops if loop.turns >= outliers.LEAST_TURNS])


def _compaction_counts(pks: Collection[int]) -> Mapping[int, CompactionCounts]:
    counts: dict[int, CompactionCounts] = {}
    for compaction in _compactions(pks):
        before = counts.get(compaction.loop_id)
        if before is not None and compaction.start_event is None and compaction.content == "block":
            continue  # an imported copy of a compaction that was recorded
        counts[compaction.loop_id] = CompactionCounts(
            before.count + 1 if before else 1,
            compaction.state,
            compaction.tokens_before,
            compaction.tokens_after,
            compaction.messages_before,
            compaction.messages_after,
            compaction.started_at,
            compaction.ended_at,
        )
    return counts


@compiled
def _superseded_loops(pks: Collection[int]) -> QuerySet[LoopRecord, int | None]:
    reruns = LoopRecord.objects.filter(parent__in_list=pks, continuation_kind="Rerun")
    return reruns.values_list("parent_id", flat=True)


@compiled
def _judged_groups(judges: Collection[int]) -> QuerySet[ParallelGroupRecord]:
    judged = ParallelGroupRecord.objects.filter(judge__in_list=judges)
    return judged.only("judge_id", "status", "selected_config_index", "loop_ids")


@compiled
def _cut_off_loops(pks: Collection[int]) -> QuerySet[Turn, int]:
    return Turn.objects.filter(loop__in_list=pks, stop_reason="length").values_list("loop_id", flat=True)


@compiled
def _compactions(pks: Collection[int]) -> QuerySet[Compaction]:
    return Compaction.objects.filter(loop__in_list=pks).defer("block", "summary").order_by("pk")


@compiled
def _failed_tool_counts(pks: Collection[int]) -> QuerySet[ToolCall, tuple[int, int]]:
    """Count the failed tools of loops; a call denied before it started is no failure."""
    failed = ToolCall.objects.filter(loop__in_list=pks, state="failed", start_event__isnull=False)
    return failed.order_by().values("loop_id").annotate(n=Count("pk")).values_list("loop_id", "n")


@compiled
def _waits(pks: Collection[int]) -> QuerySet[Approval, tuple[int, datetime]]:
    """Query since when loops wait for approval."""
    waiting = Approval.objects.filter(loop__in_list=pks, resolved_at=None).order_by().values("loop_id")
    return waiting.annotate(since=Min("requested_at")).values_list("loop_id", "since")


@compiled
def _first_prompts(groups: Collection[int]) -> QuerySet[LoopRecord, tuple[int, str]]:
    """Query the prompt of the first branch of each parallel group."""
    return LoopRecord.objects.filter(group__in_list=groups, branch_index=0).values_list("group_id", "title")

"""Rows of the loop tree: kind, state, outcome and cost of each loop."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from dashboard.pages.session.tree.queries.outliers import LoopOutliers
from dashboard.pages.session.tree.queries.row_facts import CompactionCounts, Facts
from dashboard.shared.compiled_query import compiled
from dashboard.shared.loop_state import kind_of, state_of, title_of
from dashboard.shared.queries.config_labels import OF_LOOP, Chip
from dashboard.shared.queries.costs import COST, NOTHING, Cost
from dashboard.shared.session_state import SHOWN as SESSION_STATE
from dashboard.shared.session_state import end_of_loop, is_stale_loop
from dashboard.shared.waste.queries.wastes import Flag
from dashboard.web import links
from recorder.models import LoopRecord

STATE = ("status", "outcome", "role", "continuation_kind", "is_selected", "loop_id", "title", "activity")
COUNTS = (
    "run",
    "turns",
    "errors",
    "waiting",
    "compactions",
    "started_at",
    "ended_at",
    "branch_index",
)
# A whole row has 150 columns with its relations.
OF_SESSION = tuple(f"session__{name}" for name in SESSION_STATE)
SHOWN = (
    *(*STATE, *COUNTS, *COST, *OF_LOOP, "last_event_at"),
    *("session__project__slug", "session__session_id", *OF_SESSION, "group__status"),
)


@dataclass(frozen=True, slots=True)
class LoopRow:
    """One loop in the tree; root of the panel session/tree/loop-row. Equal rows render equally."""

    pk: int
    url: str
    kind: str
    icon: str
    state: str
    title: str
    is_same_prompt: bool  # same prompt as the first branch of its group
    chips: Sequence[Chip]  # of its configs, in order of first answers
    agent: str  # the agent that took over, "" if none did
    agents: Sequence[str]  # the agent of the start, then in order of first answers
    run: int
    turns: int
    errors: int
    waiting_since: datetime | None
    compaction_counts: CompactionCounts | None
    note: str  # the end of the loop, if not with success
    own_cost: Cost
    whole: Cost | None  # including sub-agents, if that is more
    failed_tools: int
    started_at: datetime | None
    ended_at: datetime | None
    is_compaction: bool
    is_winner: bool
    is_lost: bool
    is_superseded: bool
    notes: int  # on it and inside it
    waste: Flag | None
    outliers: LoopOutliers | None

    @property
    def chip(self) -> Chip | None:
        """Return the chip of the config of its start."""
        return self.chips[0] if self.chips else None

    @property
    def css(self) -> str:
        """Return its CSS classes."""
        marks = {
            "tree-compaction": self.is_compaction,
            "is-winner": self.is_winner,
            "is-lost": self.is_lost,
            "is-superseded": self.is_superseded,
            "is-waiting": self.waiting_since is not None,
        }
        return " ".join(["tree-row", *(name for name, is_so in marks.items() if is_so)])

    @property
    def other_errors(self) -> int:
        return max(0, self.errors - self.failed_tools)


def rows(pks: Collection[int]) -> Mapping[int, LoopRow]:
    """Return the rows of loops.

    Seven queries, one for each optional fact, two for each level of sub-agents.
    """
    loops = _loops(pks)
    facts = Facts(loops)
    return {loop.pk: _row(loop, facts) for loop in loops}


@compiled
def _loops(pks: Collection[int]) -> QuerySet[LoopRecord]:
    return LoopRecord.objects.filter(pk__in_list=pks).select_related("session__project", "group").only(*SHOWN)


def _row(loop: LoopRecord, facts: Facts) -> LoopRow:
    kind, icon = kind_of(loop)
    is_winner = loop.is_selected is True
    since, own = facts.waits.get(loop.pk), NOTHING + loop
    answered = facts.answered_by[loop.pk]
    state = state_of(loop, is_waiting=since is not None)
    return LoopRow(
        pk=loop.pk,
        url=links.loop(loop.session.project.slug, loop.session_id, loop.pk),
        kind=kind,
        icon=icon,
        state=state,
        title=_title(loop, facts),
        is_same_prompt=_is_same_prompt(loop, facts),
        chips=answered.chips(facts.chips),
        agent=loop.agent_label,
        agents=answered.agents,
        run=loop.run,
        turns=loop.turns,
        errors=loop.errors,
        waiting_since=None if state == "stale" else since,
        compaction_counts=facts.compaction_counts.get(loop.pk),
        note=_note(loop) or ("cut at length" if loop.pk in facts.cut else ""),
        own_cost=own,
        whole=facts.whole[loop.pk] if facts.whole[loop.pk] != own else None,
        failed_tools=facts.failed.get(loop.pk, 0),
        started_at=loop.started_at,
        ended_at=end_of_loop(loop),
        is_compaction=loop.role == "compaction",
        is_winner=is_winner,
        is_lost=loop.is_selected is False,
        is_superseded=loop.pk in facts.superseded,
        notes=facts.notes.get(loop.pk, 0),
        waste=facts.wastes.get(loop.pk),
        outliers=facts.outliers.get(loop.pk),
    )


def _note(loop: LoopRecord) -> str:
    if loop.status == "pending" and loop.group is not None and loop.group.status != "running":
        return "never started"
    if loop.status == "pending":
        return "pending"
    if loop.status == "running":
        return "stale" if is_stale_loop(loop) else ""
    words = {
        "failed": "failed",
        "cancelled": "cancelled",
        "limit": "stopped at a limit",
        "aborted": "aborted",
    }
    if loop.outcome == "rejected" or loop.status == "rejected":
        return "rejected"
    return words.get(loop.outcome, "aborted" if loop.status == "aborted" else "")


def _title(loop: LoopRecord, facts: Facts) -> str:
    group = facts.judged.get(loop.pk)
    if group is not None and group.status == "completed" and group.selected_config_index is not None:
        return f"Picked branch {group.selected_config_index + 1} of {len(group.loop_ids)}"
    return title_of(loop)


def _is_same_prompt(loop: LoopRecord, facts: Facts) -> bool:
    if not loop.branch_index or loop.is_selected or not loop.title:
        return False
    return facts.first_prompts.get(loop.group_id or 0) == loop.title

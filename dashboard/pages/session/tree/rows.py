"""Rows of the loop tree: what each loop is, how it stands and how it ended, in words and in one glyph."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from dashboard.pages.session.tree.row_facts import Facts, Passes
from dashboard.shared.compiled_query import compiled
from dashboard.shared.config_labels import Chip
from dashboard.shared.costs import COST, NOTHING, Cost
from dashboard.web import links
from recorder.models import LoopRecord

KINDS = {
    "Initial": ("Initial", "message-square"),
    "Default": ("Continue", "corner-down-right"),
    "Compaction": ("Compaction", "fold-vertical"),
    "Rerun": ("Rerun", "rotate-ccw"),
    "Branch": ("Branch", "git-branch"),
}
ROLES = {
    "branch": ("Branch", "git-branch"),
    "judge": ("Judge", "scale"),
    "compaction": ("Compaction", "fold-vertical"),
    "sub_agent": ("Sub-agent", "bot"),
}
STATE = ("status", "outcome", "role", "continuation_kind", "is_selected", "loop_id", "title", "activity")
SAID = (
    "agent_label",
    "run",
    "turns",
    "errors",
    "waiting",
    "compactions",
    "started_at",
    "ended_at",
    "branch_index",
)
# With their other columns these rows are 150 wide.
SHOWN = (*STATE, *SAID, *COST, "config_id", "session__project__slug", "group__status")
ENDS = {
    "failed": "failed",
    "cancelled": "cancelled",
    "limit": "limit",
    "rejected": "rejected",
    "aborted": "aborted",
}


@dataclass(frozen=True, slots=True)
class LoopRow:
    """One loop in the tree; root of the panel session/tree/loop-row. What is equal looks equal."""

    pk: int
    url: str
    kind: str
    icon: str
    state: str
    title: str
    is_same_prompt: bool  # as the first branch of its group was given
    chip: Chip | None
    agent: str
    run: int
    turns: int
    errors: int
    waiting_since: datetime | None
    passes: Passes | None
    note: str  # how it ended, when that is no plain success
    own_cost: Cost
    whole: Cost | None  # with sub-agents, when that is more
    failed_tools: int
    started_at: datetime | None
    ended_at: datetime | None
    is_compaction: bool
    is_winner: bool
    is_lost: bool
    is_superseded: bool

    @property
    def css(self) -> str:
        """Return its classes."""
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
    """Return rows. Five queries, one for what only some loops have, two for each level of sub-agents."""
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
    return LoopRow(
        pk=loop.pk,
        url=links.loop(loop.session.project.slug, loop.session_id, loop.pk),
        kind=kind,
        icon=icon,
        state=state_of(loop, is_waiting=since is not None),
        title=_title(loop, facts),
        is_same_prompt=_is_same_prompt(loop, facts),
        chip=facts.chips.get(loop.config_id or 0),
        agent=loop.agent_label,
        run=loop.run,
        turns=loop.turns,
        errors=loop.errors,
        waiting_since=since,
        passes=facts.passes.get(loop.pk),
        note=_note(loop) or ("cut at length" if loop.pk in facts.cut else ""),
        own_cost=own,
        whole=facts.whole[loop.pk] if facts.whole[loop.pk] != own else None,
        failed_tools=facts.failed.get(loop.pk, 0),
        started_at=loop.started_at,
        ended_at=loop.ended_at,
        is_compaction=loop.role == "compaction",
        is_winner=is_winner,
        is_lost=loop.is_selected is False,
        is_superseded=loop.pk in facts.superseded,
    )


def kind_of(loop: LoopRecord) -> tuple[str, str]:
    """Return what a loop is called and its icon."""
    if loop.is_selected:
        return "Winner", "git-branch"
    return ROLES.get(loop.role) or KINDS.get(loop.continuation_kind, KINDS["Initial"])


def state_of(loop: LoopRecord, *, is_waiting: bool = False) -> str:
    """Return the state whose glyph a loop shows: a failure is never a plain success."""
    if is_waiting:
        return "waiting"
    if loop.status in ("pending", "running"):
        return loop.status
    if loop.outcome in ENDS:
        return ENDS[loop.outcome]
    if loop.is_selected:
        return "winner"
    if loop.role == "compaction" and loop.status == "completed":
        return "compaction"
    return loop.status


def _note(loop: LoopRecord) -> str:
    if loop.status == "pending" and loop.group is not None and loop.group.status != "running":
        return "never started"
    if loop.status == "pending":
        return "pending"
    if loop.status == "running":
        return ""
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
    return facts.asked.get(loop.group_id or 0) == loop.title


def title_of(loop: LoopRecord) -> str:
    """Return what a loop was asked; of one that continues without being asked, what it says of itself."""
    if loop.title or loop.status == "pending":
        return loop.title or loop.loop_id
    return loop.activity or "No prompt"

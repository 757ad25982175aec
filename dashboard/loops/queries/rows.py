"""Rows of the loop tree: what each loop is, how it stands and how it ended, in words and in one glyph."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Min

from dashboard import links
from dashboard.chips import Chip, chips
from dashboard.formats import tokens
from dashboard.money import COST, NOTHING, Cost, loops_with_sub_agents
from recorder.models import Approval, Compaction, LoopRecord, ParallelGroupRecord, ToolCall, Turn

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
class Passes:
    """The compaction passes inside a loop, and what the last one claims."""

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
        """Return before and after as far as they are known."""
        if self.state == "running":
            return "compacting"
        parts = []
        if self.tokens_before is not None and self.tokens_after is not None:
            parts.append(f"{tokens(self.tokens_before)} → {tokens(self.tokens_after)} tokens")
        if self.messages_before is not None and self.messages_after is not None:
            parts.append(f"{self.messages_before:,} → {self.messages_after:,} messages")
        return ", ".join(parts) or ("cut off" if self.state == "cut" else "compacted")


@dataclass(frozen=True, slots=True)
class LoopRow:
    """One loop in the tree; root of the panel session/loop-row. What is equal looks equal."""

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
    spent: Cost
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
            "tr-cmp": self.is_compaction,
            "is-win": self.is_winner,
            "is-lost": self.is_lost,
            "is-old": self.is_superseded,
            "is-wait": self.waiting_since is not None,
        }
        return " ".join(["tr", *(name for name, is_so in marks.items() if is_so)])

    @property
    def other_errors(self) -> int:
        return max(0, self.errors - self.failed_tools)


def rows(pks: Collection[int]) -> Mapping[int, LoopRow]:
    """Return rows. Five queries, one for what only some loops have, two for each level of sub-agents."""
    loops = list(
        LoopRecord.objects.filter(pk__in=pks).select_related("session__project", "group").only(*SHOWN)
    )
    facts = _Facts(loops)
    return {loop.pk: _row(loop, facts) for loop in loops}


class _Facts:
    """What the rows of these loops need from other tables."""

    def __init__(self, loops: Collection[LoopRecord]) -> None:
        pks = [loop.pk for loop in loops]
        judges = [loop.pk for loop in loops if loop.role == "judge"]
        reruns = LoopRecord.objects.filter(parent__in=pks, continuation_kind="Rerun")
        self.superseded = set(reruns.values_list("parent_id", flat=True))
        judged = ParallelGroupRecord.objects.filter(judge__in=judges)
        chosen = judged.only("judge_id", "status", "selected_config_index", "loop_ids")
        self.judged = {group.judge_id: group for group in chosen}
        self.passes = _passes([loop.pk for loop in loops if loop.compactions or loop.role == "compaction"])
        self.waits = _waits([loop.pk for loop in loops if loop.waiting])
        self.cut = set(
            Turn.objects.filter(loop__in=pks, stop_reason="length").values_list("loop_id", flat=True)
        )
        self.asked = _asked({loop.group_id for loop in loops if loop.group_id})
        self.whole = loops_with_sub_agents(loops)
        self.failed = _failed([loop.pk for loop in loops if loop.errors])
        self.chips = chips({loop.config_id for loop in loops if loop.config_id})


def _passes(pks: Collection[int]) -> Mapping[int, Passes]:
    found: dict[int, Passes] = {}
    for each in Compaction.objects.filter(loop__in=pks).defer("block", "summary").order_by("pk"):
        before = found.get(each.loop_id)
        if before is not None and each.start_event is None and each.content == "block":
            continue  # what an imported session says of a pass that was recorded
        found[each.loop_id] = Passes(
            before.count + 1 if before else 1,
            each.state,
            each.tokens_before,
            each.tokens_after,
            each.messages_before,
            each.messages_after,
            each.started_at,
            each.ended_at,
        )
    return found


def _failed(pks: Collection[int]) -> Mapping[int, int]:
    """Return how many tools of loops failed; one that was denied before it began is no failure."""
    failed = ToolCall.objects.filter(loop__in=pks, state="failed", start_event__isnull=False)
    counted = failed.order_by().values("loop_id").annotate(n=Count("pk"))
    return dict(counted.values_list("loop_id", "n"))


def _waits(pks: Collection[int]) -> Mapping[int, datetime]:
    """Return since when loops wait for a person."""
    waiting = Approval.objects.filter(loop__in=pks, resolved_at=None).values("loop_id")
    return dict(waiting.annotate(since=Min("requested_at")).values_list("loop_id", "since"))


def _asked(groups: Collection[int]) -> Mapping[int, str]:
    """Return what the first branch of each parallel group was asked."""
    branches = LoopRecord.objects.filter(group__in=groups, branch_index=0)
    return {group: title for group, title in branches.values_list("group_id", "title") if group}


def _row(loop: LoopRecord, facts: _Facts) -> LoopRow:
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
        spent=own,
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


def _title(loop: LoopRecord, facts: _Facts) -> str:
    group = facts.judged.get(loop.pk)
    if group is not None and group.status == "completed" and group.selected_config_index is not None:
        return f"Picked branch {group.selected_config_index + 1} of {len(group.loop_ids)}"
    return title_of(loop)


def _is_same_prompt(loop: LoopRecord, facts: _Facts) -> bool:
    if not loop.branch_index or loop.is_selected or not loop.title:
        return False
    return facts.asked.get(loop.group_id or 0) == loop.title


def title_of(loop: LoopRecord) -> str:
    """Return what a loop was asked; of one that continues without being asked, what it says of itself."""
    if loop.title or loop.status == "pending":
        return loop.title or loop.loop_id
    return loop.activity or "No prompt"

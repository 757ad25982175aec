"""Lanes of a running evaluation: progress of each branch, and the judge's streaming text."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Max, Q

from dashboard.live.queries import streaming_text
from dashboard.live.queries.streaming_text import Block
from dashboard.pages.evaluations.queries.groups import Branch, Group, groups
from dashboard.rendering.number_format import money
from dashboard.shared.session_state import end_of_loop
from recorder.models import LoopRecord, ParallelGroupRecord, ToolCall, Turn


@dataclass(frozen=True, slots=True)
class Lane:
    """One branch, or the judge, while its group runs; root of the panel evaluations/lane."""

    pk: int
    into: str
    order: int
    name: str
    branch: Branch
    activity: str
    tool: str  # the last call that started
    turns: int
    cost: str
    context_tokens: int | None
    context_window: int | None
    started_at: datetime | None
    ended_at: datetime | None
    stream: int  # the judge's last turn, 0 for a branch
    blocks: Sequence[Block]

    @property
    def dom_id(self) -> str:
        return f"evaluations-lane-{self.pk}"


@dataclass(frozen=True, slots=True)
class Lanes:
    """All lanes of a group, none once it has ended; root of the panel evaluations/lanes."""

    pk: int
    is_running: bool
    lanes: Sequence[Lane]


def lanes(pks: Collection[int]) -> Mapping[int, Lane]:
    """Return the lanes of loops whose group is running. Seven queries."""
    which = Q(branches__in=pks) | Q(judge__in=pks)
    running = ParallelGroupRecord.objects.filter(which, status="running").values_list("pk", flat=True)
    by_group = _lanes(groups(set(running)).values())
    return {lane.pk: lane for group_lanes in by_group.values() for lane in group_lanes if lane.pk in pks}


def all_lanes(pks: Collection[int]) -> Mapping[int, Lanes]:
    """Return the lanes of groups. Six queries."""
    return lanes_of(groups(pks))


def lanes_of(groups_by_pk: Mapping[int, Group]) -> Mapping[int, Lanes]:
    """Return the lanes of groups. No query, four if one is running."""
    made = _lanes([group for group in groups_by_pk.values() if group.is_running])
    return {pk: Lanes(pk, group.is_running, made.get(pk, [])) for pk, group in groups_by_pk.items()}


def _lanes(running: Collection[Group]) -> Mapping[int, list[Lane]]:
    loops = [branch.pk for group in running for branch in (*group.branches, group.judge) if branch]
    last = ToolCall.objects.filter(loop__in=loops).order_by().values("loop").annotate(last=Max("pk"))
    calls = ToolCall.objects.filter(pk__in=last.values("last"))
    tools = {call.loop_id: f"{call.tool_name} {call.summary}".strip() for call in calls}
    judges = [group.judge.pk for group in running if group.judge]
    turns = dict(Turn.objects.filter(loop__in=judges).order_by("ordinal").values_list("loop_id", "pk"))
    streams = streaming_text.of_turns(turns.values())
    made = {}
    for group in running:
        judge = [group.judge] if group.judge else []
        made[group.record.pk] = [
            _lane(group, branch, tools.get(branch.pk, ""), turns.get(branch.pk, 0), streams)
            for branch in (*group.branches, *judge)
        ]
    return made


def _lane(
    group: Group, branch: Branch, tool: str, turn: int, streams: Mapping[int, streaming_text.Blocks]
) -> Lane:
    loop, is_judge = branch.loop, branch.number == 0
    blocks = streams.get(turn, {})
    return Lane(
        pk=loop.pk,
        into=f"evaluations-lanes-{group.record.pk}",
        order=len(group.branches) + 1 if is_judge else branch.number,
        name="Judge" if is_judge else f"Branch {branch.number}",
        branch=branch,
        activity=loop.activity,
        tool=tool,
        turns=loop.turns,
        cost=money(loop.cost_nano, loop.unpriced),
        context_tokens=loop.context_tokens,
        context_window=_window(loop),
        started_at=loop.started_at,
        ended_at=end_of_loop(loop),
        stream=turn if is_judge else 0,
        blocks=blocks[max(blocks)] if blocks else (),
    )


def _window(loop: LoopRecord) -> int | None:
    snapshot = loop.config.snapshot if loop.config else None
    size = snapshot.get("context_window") if isinstance(snapshot, dict) else None
    return size if type(size) is int and size > 0 else None

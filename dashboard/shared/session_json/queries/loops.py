"""Loops as JSON documents, with their children, sub-agents and approvals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast

from django.db.models import Count, Q, QuerySet

from dashboard.shared.queries.config_labels import Chip, chips
from dashboard.shared.queries.costs import Cost, loops_with_sub_agents
from dashboard.shared.session_json import schemas
from dashboard.shared.session_json.queries.price_sources import inferred_in_loops
from dashboard.shared.session_json.usage import config, inclusive, loop_config, usage_and_cost
from dashboard.shared.session_state import is_stale_loop
from dashboard.web import links
from recorder.models import Approval, ChildLoopRef, LoopRecord, ModelConfig, Project, Turn

MS = timedelta(milliseconds=1)


def loop_item(project: Project, pk: int) -> schemas.LoopItem | None:
    """Return one loop; None when the project has no loop with this id."""
    return next(iter(loop_items(project, LoopRecord.objects.filter(session__project=project, pk=pk))), None)


def loop_items(project: Project, rows: QuerySet[LoopRecord]) -> list[schemas.LoopItem]:
    """Return the items of some loops in recorded order, in a fixed number of queries."""
    loops = list(rows.select_related("session", "config").order_by("pk"))
    keys = rows.values("pk")
    configs = _configs(loops)
    related = Related(
        chips({config.pk for of_loop in configs.values() for config in of_loop}),
        configs,
        _children(LoopRecord.objects.filter(parent__in=keys)),
        _refs(ChildLoopRef.objects.filter(loop__in=keys).order_by("pk")),
        _approvals(Approval.objects.filter(loop__in=keys)),
        loops_with_sub_agents(loops),
        inferred_in_loops(project.pk, [row.pk for row in loops]),
        _callers(ChildLoopRef.objects.filter(child__in=keys)),
    )
    return [item(project, row, related) for row in loops]


@dataclass(frozen=True, slots=True)
class Related:
    """Related records by loop, read once for all loops."""

    chips: Mapping[int, Chip]
    configs: Mapping[int, Sequence[ModelConfig]]
    children: Mapping[int, list[int]]
    refs: Mapping[int, list[schemas.ChildRef]]
    approvals: Mapping[int, tuple[int, int]]  # all, open
    whole: Mapping[int, Cost]  # with sub-agents
    inferred: Collection[int]  # loops with a call that was priced by its model alone
    callers: Mapping[int, int]  # the loop whose tool call ran it, of any session

    def approval_counts(self, loop: int) -> dict[str, Any]:
        """Return the fields that count the approvals of a loop."""
        approvals, waiting = self.approvals.get(loop, (0, 0))
        return {"approvals": approvals, "waiting": waiting}


def item(project: Project, row: LoopRecord, related: Related) -> schemas.LoopItem:
    """Return the item of one loop."""
    return schemas.LoopItem(
        id=row.pk,
        loop_id=row.loop_id,
        run=row.run,
        session_id=row.session.session_id,
        agent_id=row.agent_id or None,
        title=row.title or None,
        status=row.status,
        outcome=row.outcome or None,
        stale=is_stale_loop(row),
        error=row.error or None,
        rejection=row.rejection,
        role=cast("schemas.Role", row.role),
        continuation_kind=row.continuation_kind,
        continuation_tag=row.continuation_tag,
        parent_loop_id=row.parent_loop_id,
        parent_loop=row.parent_id or related.callers.get(row.pk) or _spawner(row),
        children=related.children.get(row.pk, []),
        child_loop_refs=related.refs.get(row.pk, []),
        parallel_group=row.group_id,
        branch_index=row.branch_index,
        is_selected=row.is_selected,
        config=loop_config(row.config, related.chips.get(row.config_id or 0)),
        configs=_config_items(related.configs.get(row.pk, ()), related.chips),
        segment=row.segment,
        **usage_and_cost(row, row.session.source, is_inferred=row.pk in related.inferred),
        **inclusive(related.whole[row.pk]),
        started_at=row.started_at,
        ended_at=row.ended_at,
        duration_ms=duration_ms(row.started_at, row.ended_at),
        turns=row.turns,
        tool_calls=row.tool_calls,
        errors=row.errors,
        compactions=row.compactions,
        **related.approval_counts(row.pk),
        events=row.events,
        url=links.loop(project.slug, row.session_id, row.pk),
    )


def _spawner(row: LoopRecord) -> int | None:
    """Return the loop of another session that spawned a sub-agent's loop, as its session names it."""
    return row.session.parent_id if row.role == "sub_agent" else None


def _config_items(configs: Iterable[ModelConfig], chips: Mapping[int, Chip]) -> list[schemas.Config]:
    return [named for each in configs if (named := config(each, chips.get(each.pk))) is not None]


def duration_ms(started_at: datetime | None, ended_at: datetime | None) -> int | None:
    """Return a duration in milliseconds, at least 0; None while it runs."""
    if started_at is None or ended_at is None:
        return None
    return max((ended_at - started_at) // MS, 0)


def _configs(loops: Iterable[LoopRecord]) -> Mapping[int, Sequence[ModelConfig]]:
    """Return the configs of each loop, in the order of their first answers. A query if any has several."""
    configs_of = {loop.pk: {loop.config.pk: loop.config} if loop.config else {} for loop in loops}
    switched = [loop.pk for loop in loops if loop.has_switched]
    if switched:
        turns = Turn.objects.filter(loop__in=switched, state="done", config__isnull=False)
        for turn in turns.select_related("config").order_by("loop", "ordinal"):
            if turn.config is not None:
                configs_of[turn.loop_id].setdefault(turn.config.pk, turn.config)
    return {loop: list(configs.values()) for loop, configs in configs_of.items()}


def _children(rows: QuerySet[LoopRecord]) -> Mapping[int, list[int]]:
    children: dict[int, list[int]] = defaultdict(list)
    for parent, child in rows.order_by("pk").values_list("parent_id", "pk"):
        if parent is not None:
            children[parent].append(child)
    return children


def _refs(rows: Iterable[ChildLoopRef]) -> Mapping[int, list[schemas.ChildRef]]:
    refs: dict[int, list[schemas.ChildRef]] = defaultdict(list)
    for row in rows:
        ref = schemas.ChildRef(
            tool_call_id=row.tool_call_id,
            tool_name=row.tool_name,
            child_loop_id=row.child_loop_id,
            child_session_id=row.child_session_id,
            loop=row.child_id,
            certainty=row.certainty,
        )
        refs[row.loop_id].append(ref)
    return refs


def _callers(rows: QuerySet[ChildLoopRef]) -> Mapping[int, int]:
    """Return the first loop that called each sub-agent."""
    return {child: loop for child, loop in rows.order_by("-pk").values_list("child_id", "loop_id") if child}


def _approvals(rows: QuerySet[Approval]) -> Mapping[int, tuple[int, int]]:
    counted = rows.values("loop").annotate(
        requests=Count("pk"), waiting=Count("pk", filter=Q(resolved_at=None))
    )
    counts = counted.values_list("loop_id", "requests", "waiting")
    return {loop: (requests, waiting) for loop, requests, waiting in counts if loop}

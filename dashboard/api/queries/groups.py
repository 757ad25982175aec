"""Parallel groups, as items of the read API."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from django.db.models import QuerySet

from dashboard import links
from dashboard.api import schemas
from dashboard.api.asked import OfSession
from dashboard.api.queries.loops import duration_ms
from dashboard.api.queries.pages import by_id
from dashboard.api.queries.usage import config, usage
from dashboard.chips import Chip, chips
from recorder.core.changes import Json
from recorder.core.formats.native import NO_LIMITS, read_object
from recorder.core.messages import each, role_of, text_of
from recorder.core.verdict import verdict
from recorder.models import JournalEvent, LoopRecord, ParallelGroupRecord, Project


def groups(project: Project, asked: OfSession) -> schemas.Groups:
    """Return a page of groups."""
    rows = ParallelGroupRecord.objects.filter(session__project=project)
    if asked.session_id is not None:
        rows = rows.filter(session__session_id=asked.session_id)
    page = by_id(rows, asked)
    shown = ParallelGroupRecord.objects.filter(pk__in=[row.pk for row in page.rows])
    return schemas.Groups(items=_items(project, shown), next=page.next, total=page.total)


def group(project: Project, pk: int) -> schemas.GroupItem | None:
    """Return one group."""
    rows = ParallelGroupRecord.objects.filter(session__project=project, pk=pk)
    return next(iter(_items(project, rows)), None)


@dataclass(frozen=True, slots=True)
class _Around:
    """What stands around groups."""

    branches: Mapping[int, list[LoopRecord]]
    chips: Mapping[int, Chip]
    replies: Mapping[int, str]  # of judges, by the event that ended them


def _items(project: Project, rows: QuerySet[ParallelGroupRecord]) -> list[schemas.GroupItem]:
    found = list(rows.select_related("session", "judge").order_by("pk"))
    branches: dict[int, list[LoopRecord]] = defaultdict(list)
    order = ("branch_index", "pk")
    for loop in (
        LoopRecord.objects.filter(group__in=rows.values("pk")).select_related("config").order_by(*order)
    ):
        branches[loop.group_id or 0].append(loop)
    used = {loop.config_id for loops in branches.values() for loop in loops if loop.config_id is not None}
    ends = [row.judge.end_event for row in found if row.judge and row.judge.end_event]
    around = _Around(branches, chips(used), _replies(ends))
    return [_item(project, row, around) for row in found]


def _item(project: Project, row: ParallelGroupRecord, around: _Around) -> schemas.GroupItem:
    ended = row.status == "completed"
    spent = usage(row)
    reply = None if row.judge is None else around.replies.get(row.judge.end_event or 0, "")
    return schemas.GroupItem(
        id=row.pk,
        session_id=row.session.session_id,
        status=row.status,
        branches=[_branch(loop, around.chips) for loop in around.branches.get(row.pk, [])],
        selected_loop_id=row.selected_loop_id or None,
        selected_config_index=row.selected_config_index,
        verdict=verdict(
            ended=ended,
            selected=row.selected_config_index,
            reply=reply,
            judge_spent=any(spent.model_dump().values()),
        ),
        judge=None if row.judge is None else schemas.Judge(loop=row.judge.pk, usage=usage(row.judge)),
        evaluation_usage=spent if ended else None,
        started_at=row.started_at,
        ended_at=row.ended_at,
        url=links.session(project.slug, row.session_id),
    )


def _branch(loop: LoopRecord, known: Mapping[int, Chip]) -> schemas.Branch:
    return schemas.Branch(
        loop=loop.pk,
        config_index=loop.branch_index,
        config=config(loop.config, known.get(loop.config_id or 0)),
        is_selected=loop.is_selected,
        usage=usage(loop),
        duration_ms=duration_ms(loop.started_at, loop.ended_at),
        turns=loop.turns,
        tool_calls=loop.tool_calls,
        errors=loop.errors,
    )


def _replies(ends: Collection[int]) -> Mapping[int, str]:
    """Return the last words of judges, read from the events that ended their loops."""
    lines = JournalEvent.objects.filter(pk__in=ends).values_list("pk", "raw")
    return {pk: _last_words(read_object(bytes(raw), NO_LIMITS)) for pk, raw in lines.iterator(chunk_size=10)}


def _last_words(event: Json) -> str:
    said = [
        m
        for m in each(event.get("messages") if isinstance(event, dict) else None)
        if role_of(m) == "assistant"
    ]
    return text_of(said[-1]) if said else ""

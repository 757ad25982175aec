"""Tool calls: their records, and the sub-agents that they ran."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Q

from dashboard import links
from dashboard.loops.conversation import Call, held, tool
from dashboard.loops.items import Child, Tool
from dashboard.loops.queries import lines, questions
from recorder.models import ChildLoopRef, ToolCall

EVENTS = ("start_event", "update_event", "end_event")
SAID = (
    "tool_call_id",
    "tool_name",
    "summary",
    "state",
    "started_at",
    "duration_ms",
    "times_received",
    "progress",
)
SHOWN = ("turn_id", *EVENTS, *SAID, "loop__session__project__slug")


@dataclass(frozen=True, slots=True)
class Placed:
    """A call, and the turn and loop in which it ran."""

    turn: int | None
    loop: int
    slug: str
    call: Call


def tools(pks: Collection[int]) -> Mapping[int, Tool]:
    """Return tool calls with their arguments and results. Four queries."""
    found = calls(Q(pk__in=pks))
    read = [line.body for line in lines.read(Q(pk__in=events(found)))]
    bodies = {body.id: body for body in read if body.pruned_on is None}
    asked = questions.open_of({each.loop for each in found})
    return {
        each.call.tool.pk: held(
            tool(each.slug, each.call, bodies), asked.get((each.loop, each.call.tool_call_id))
        )
        for each in found
    }


def calls(which: Q) -> Sequence[Placed]:
    """Return calls in the order in which they were recorded. Two queries."""
    chosen = ToolCall.objects.filter(which).select_related("loop__session__project")
    records = list(chosen.only(*SHOWN).order_by("pk"))
    children = _children(records)
    return [
        Placed(each.turn_id, each.loop_id, each.loop.session.project.slug, _call(each, children))
        for each in records
    ]


def events(found: Collection[Placed]) -> set[int]:
    """Return where the bodies of calls are."""
    return {pk for each in found for pk in each.call.events}


def _call(record: ToolCall, children: Mapping[tuple[int, str], Child]) -> Call:
    drawn = Tool(
        pk=record.pk,
        name=record.tool_name,
        summary=record.summary,
        state=record.state,
        started_at=record.started_at,
        duration_ms=record.duration_ms,
        times_received=record.times_received,
        progress=record.progress,
        child=children.get((record.loop_id, record.tool_call_id)),
        as_of=_as_of(record),
    )
    return Call(record.tool_call_id, record.start_event, record.update_event, record.end_event, drawn)


def _as_of(record: ToolCall) -> str:
    loop, event = record.loop, record.end_event or record.start_event
    return links.as_of(loop.session.project.slug, loop.session_id, event, loop=loop.pk) if event else ""


def _children(records: Collection[ToolCall]) -> Mapping[tuple[int, str], Child]:
    refs = ChildLoopRef.objects.filter(
        loop__in={record.loop_id for record in records},
        tool_call_id__in={record.tool_call_id for record in records},
    )
    where = ("child__session__project__slug", "child__session_id", "child_id")
    return {
        (loop, call): Child(session_id, links.loop(slug, session, child) if child else "")
        for loop, call, session_id, slug, session, child in refs.values_list(
            "loop_id", "tool_call_id", "child_session_id", *where
        )
    }

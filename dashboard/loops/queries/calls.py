"""Tool calls: their records, and the sub-agents that they ran."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

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
SHOWN = ("pk", "turn_id", "loop_id", *EVENTS, *SAID, "loop__session_id", "loop__session__project__slug")


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
    # As rows: to make a record of each costs more than to read it.
    chosen = ToolCall.objects.filter(which).order_by("pk").values_list(*SHOWN)
    records = [_Record(*row) for row in chosen]
    children = _children(records)
    return [Placed(each.turn, each.loop, each.slug, _call(each, children)) for each in records]


def events(found: Collection[Placed]) -> set[int]:
    """Return where the bodies of calls are."""
    return {pk for each in found for pk in each.call.events}


class _Record(NamedTuple):
    """What is read of a call, in the order of SHOWN."""

    pk: int
    turn: int | None
    loop: int
    start: int | None
    update: int | None
    end: int | None
    tool_call_id: str
    name: str
    summary: str
    state: str
    started_at: datetime | None
    duration_ms: int | None
    times_received: bool
    progress: str
    session: int
    slug: str

    @property
    def as_of(self) -> str:
        event = self.end or self.start
        return links.as_of(self.slug, self.session, event, loop=self.loop) if event else ""


def _call(record: _Record, children: Mapping[tuple[int, str], Child]) -> Call:
    drawn = Tool(
        pk=record.pk,
        name=record.name,
        summary=record.summary,
        state=record.state,
        started_at=record.started_at,
        duration_ms=record.duration_ms,
        times_received=record.times_received,
        progress=record.progress,
        child=children.get((record.loop, record.tool_call_id)),
        as_of=record.as_of,
    )
    return Call(record.tool_call_id, record.start, record.update, record.end, drawn)


def _children(records: Collection[_Record]) -> Mapping[tuple[int, str], Child]:
    refs = ChildLoopRef.objects.filter(
        loop__in={record.loop for record in records},
        tool_call_id__in={record.tool_call_id for record in records},
    )
    where = ("child__session__project__slug", "child__session_id", "child_id")
    return {
        (loop, call): Child(session_id, links.loop(slug, session, child) if child else "")
        for loop, call, session_id, slug, session, child in refs.values_list(
            "loop_id", "tool_call_id", "child_session_id", *where
        )
    }

"""What the time of loops went on: waiting for a model, its answers, tools, questions to people, compactions.

Where the wire carries no time it is the one at which the line was received, as long as that lies where it
can: what was imported was received at another time than it happened, and such a span is not drawn.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from django.db.models import F, Max, Min, Q

from dashboard.pages.session.timeline.axis import Span
from recorder.models import Approval, Compaction, EventRecord, LoopRecord, ToolCall, Turn

Kind = Literal["wait", "model", "tool", "err", "ask", "pass"]
SLACK = timedelta(seconds=2)  # clocks of agent and server may be so far apart
RECEIVED = "journal__received_at"


@dataclass(frozen=True, slots=True)
class Phase:
    """One span, what it was and what it belongs to. `is_received`: a bound of it is a received time."""

    kind: Kind
    loop: int
    span: Span
    turn: int | None = None  # its ordinal
    pk: int = 0  # of the tool
    name: str = ""
    is_received: bool = False
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class Course:
    """All phases of some loops, and how many tools have no time that could be drawn."""

    phases: Sequence[Phase]
    timeless: int = 0
    bounds: Sequence[Span] = ()  # where loops began and ended, or all of one of which no more is known

    @property
    def spans(self) -> list[Span]:
        return [*(phase.span for phase in self.phases), *self.bounds]


@dataclass(frozen=True, slots=True)
class _Begun:
    """A turn and the span that it took."""

    loop: int
    pk: int
    ordinal: int
    span: Span
    is_open: bool

    def holds(self, moment: datetime | None) -> bool:
        return moment is not None and self.span.start - SLACK <= moment <= self.span.end + SLACK

    def clamped(self, moment: datetime) -> datetime:
        return min(max(moment, self.span.start), self.span.end)


def course(loops: Collection[int]) -> Course:
    """Return the phases of loops. Six queries."""
    rows = LoopRecord.objects.filter(pk__in=loops, started_at__isnull=False)
    columns = rows.values_list("pk", "started_at", "ended_at", "last_event_at")
    ran = {pk: Span(start, max(start, ended or last or start)) for pk, start, ended, last in columns if start}
    if not ran:
        return Course(())
    end = max(span.end for span in ran.values())
    turns = _turns(loops, {pk: span.end for pk, span in ran.items()})
    tools, timeless = _tools(loops, {turn.pk: turn for turn in turns}, end)
    answers = _answers(turns, _received(loops), tools)
    phases = [*answers, *tools, *_asked(loops, turns, end), *_passes(loops, end)]
    return Course(phases, timeless, _bounds(ran, {phase.loop for phase in phases}))


def _bounds(ran: Mapping[int, Span], known: Collection[int]) -> list[Span]:
    ends = [Span(at, at) for pk, span in ran.items() if pk in known for at in (span.start, span.end)]
    return [*ends, *(span for pk, span in ran.items() if pk not in known)]


def _turns(loops: Collection[int], ends: Mapping[int, datetime]) -> list[_Begun]:
    """Return turns; one that was cut off lasted until the next one began, or its loop ended."""
    found: list[_Begun] = []
    rows = Turn.objects.filter(loop__in=loops).order_by("loop_id", "-ordinal")
    for pk, loop, ordinal, started, ended, state in rows.values_list(
        "pk", "loop_id", "ordinal", "started_at", "ended_at", "state"
    ):
        after = found[-1].span.start if found and found[-1].loop == loop else ends.get(loop, started)
        found.append(_Begun(loop, pk, ordinal, Span(started, max(started, ended or after)), state == "open"))
    return found[::-1]


def _received(loops: Collection[int]) -> dict[int, tuple[datetime | None, datetime | None]]:
    """Return when the first piece of each turn's answer was received, and its end. One query."""
    lines = EventRecord.objects.filter(loop__in=loops, turn__isnull=False)
    # Before the request stands the prompt, whose message has begun and ended as well.
    asked = Q(turn__request_event=None) | Q(journal__gt=F("turn__request_event"))
    lines = lines.filter(asked, type__in=("MessageStart", "MessageUpdate", "MessageEnd"))
    rows = lines.order_by().values("turn")
    rows = rows.annotate(
        piece=Min(RECEIVED, filter=Q(type="MessageUpdate")),
        last=Max(RECEIVED, filter=Q(type="MessageUpdate")),
        begun=Min(RECEIVED, filter=Q(type="MessageStart", turn__request_event__isnull=False)),
        whole=Min(RECEIVED, filter=Q(type="MessageEnd", turn__request_event__isnull=False)),
    )
    return {row["turn"]: (row["piece"] or row["begun"], row["whole"] or row["last"]) for row in rows}


def _answers(
    turns: Iterable[_Begun],
    received: Mapping[int, tuple[datetime | None, datetime | None]],
    tools: Iterable[Phase],
) -> list[Phase]:
    """Return what models did: each turn's wait for the first piece, and its answer up to the first tool."""
    first_tool: dict[tuple[int, int | None], datetime] = {}
    for tool in tools:
        key = tool.loop, tool.turn
        first_tool[key] = min(tool.span.start, first_tool.get(key, tool.span.start))
    found: list[Phase] = []
    for turn in turns:
        first, last = received.get(turn.pk, (None, None))
        end = min(first_tool.get((turn.loop, turn.ordinal), turn.span.end), turn.span.end)
        start, is_received = turn.span.start, turn.holds(first)
        if first is not None and is_received:
            start = turn.clamped(first)
            found.append(
                Phase("wait", turn.loop, Span(turn.span.start, start), turn.ordinal, is_received=True)
            )
            if last is not None and turn.holds(last) and not turn.is_open:
                end = turn.clamped(last)
        span = Span(start, max(start, end))
        found.append(
            Phase("model", turn.loop, span, turn.ordinal, is_received=is_received, is_open=turn.is_open)
        )
    return found


def _tools(loops: Collection[int], turns: Mapping[int, _Begun], end: datetime) -> tuple[list[Phase], int]:
    """Return tool calls, and how many have only times at which they cannot have run. One query."""
    found: list[Phase] = []
    timeless = 0
    rows = ToolCall.objects.filter(loop__in=loops).order_by("pk")
    for pk, loop, turn_pk, name, state, started, ended, received in rows.values_list(
        "pk", "loop_id", "turn_id", "tool_name", "state", "started_at", "ended_at", "times_received"
    ):
        turn = turns.get(turn_pk or 0)
        is_open = state == "running"
        until = ended or (end if is_open or turn is None else turn.span.end)
        if started is None or (received and turn is not None and not turn.holds(started)):
            timeless += 1
            continue
        span = Span(started, max(started, until))
        if received and turn is not None and not is_open:
            span = Span(turn.clamped(span.start), turn.clamped(span.end))
        kind: Kind = "err" if state == "failed" else "tool"
        found.append(Phase(kind, loop, span, turn.ordinal if turn else None, pk, name, received, is_open))
    return found, timeless


def _asked(loops: Collection[int], turns: Iterable[_Begun], end: datetime) -> list[Phase]:
    """Return questions, each in the turn in which it was asked. One query."""
    within: dict[int, list[_Begun]] = defaultdict(list)
    for turn in turns:
        within[turn.loop].append(turn)
    rows = Approval.objects.filter(loop__in=loops, loop__isnull=False).order_by("pk")
    return [
        Phase(
            "ask",
            loop or 0,
            Span(start, max(start, until or end)),
            next((turn.ordinal for turn in within[loop or 0] if turn.holds(start)), None),
            name=command,
            is_open=until is None,
        )
        for loop, start, until, command in rows.values_list(
            "loop_id", "requested_at", "resolved_at", "command"
        )
    ]


def _passes(loops: Collection[int], end: datetime) -> list[Phase]:
    rows = Compaction.objects.filter(loop__in=loops).order_by("pk")
    columns = rows.values_list("loop_id", "turn__ordinal", "started_at", "ended_at", "state")
    found: list[Phase] = []
    for loop, turn, start, until, state in columns:
        begun = start or until
        if begun is not None:
            span = Span(begun, max(begun, until or end))
            found.append(Phase("pass", loop, span, turn, is_open=state == "running"))
    return found

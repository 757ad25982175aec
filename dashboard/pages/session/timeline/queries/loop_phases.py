"""Reads how loops spent their time: waiting for a model, its answers, tools, approvals, compactions.

Events without a timestamp have the receive time of their line. It is used only if it lies within the turn,
give or take SLACK: imported events were received at another time, and their spans are not drawn. An open turn
has the config of the last turn that its agent answered. Invariant: a span with a received bound is inside the
span of its turn. Cost: six queries, O(rows) for the selected loops.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import zip_longest

from django.db.models import F, Max, Min, Q

from dashboard.pages.session.timeline.axis import Span
from dashboard.pages.session.timeline.phases import Kind, Phase
from recorder.models import Approval, Compaction, EventRecord, LoopRecord, ToolCall, Turn

SLACK = timedelta(seconds=2)  # allowed difference between the clocks of agent and server
RECEIVED = "journal__received_at"


@dataclass(frozen=True, slots=True)
class LoopPhases:
    """The phases of some loops, and the number of tool calls without usable times."""

    phases: Sequence[Phase]
    timeless: int = 0
    bounds: Sequence[Span] = ()  # starts and ends of loops; the whole span of a loop without phases

    @property
    def spans(self) -> list[Span]:
        return [*(phase.span for phase in self.phases), *self.bounds]


@dataclass(frozen=True, slots=True)
class _Begun:
    """A turn and its span."""

    loop: int
    pk: int
    ordinal: int
    span: Span
    is_open: bool
    config: int | None

    def holds(self, moment: datetime | None) -> bool:
        return moment is not None and self.span.start - SLACK <= moment <= self.span.end + SLACK

    def clamped(self, moment: datetime) -> datetime:
        return min(max(moment, self.span.start), self.span.end)


def loop_phases(loops: Collection[int]) -> LoopPhases:
    """Return the phases of loops. Six queries."""
    rows = LoopRecord.objects.filter(pk__in=loops, started_at__isnull=False)
    columns = rows.values_list("pk", "started_at", "ended_at", "last_event_at", "config_id")
    loop_rows = list(columns)
    ran = {
        pk: Span(start, max(start, ended or last or start))
        for pk, start, ended, last, _ in loop_rows
        if start
    }
    if not ran:
        return LoopPhases(())
    end = max(span.end for span in ran.values())
    turns = _turns(
        loops, {pk: span.end for pk, span in ran.items()}, {pk: config for pk, *_, config in loop_rows}
    )
    tools, timeless = _tools(loops, {turn.pk: turn for turn in turns}, end)
    answers = _answers(turns, _receive_times(loops), tools)
    phases = [*answers, *tools, *_approvals(loops, turns, end), *_compactions(loops, end)]
    return LoopPhases(phases, timeless, _bounds(ran, {phase.loop for phase in phases}))


def _bounds(ran: Mapping[int, Span], known: Collection[int]) -> list[Span]:
    ends = [Span(at, at) for pk, span in ran.items() if pk in known for at in (span.start, span.end)]
    return [*ends, *(span for pk, span in ran.items() if pk not in known)]


def _turns(
    loops: Collection[int], ends: Mapping[int, datetime], configs: Mapping[int, int | None]
) -> list[_Begun]:
    """Return turns by loop and number. `configs` are those with which loops started.

    A turn without an end lasts until the next turn starts or its loop ends.
    """
    columns = ("pk", "loop_id", "ordinal", "started_at", "ended_at", "state", "config_id", "agent_id")
    rows = list(Turn.objects.filter(loop__in=loops).order_by("loop_id", "ordinal").values_list(*columns))
    answered = {(loop, ""): config for loop, config in configs.items()}  # the last config of each agent
    begun_turns: list[_Begun] = []
    for row, following in zip_longest(rows, rows[1:]):
        pk, loop, ordinal, started, ended, state, config, agent = row
        after = following[3] if following and following[1] == loop else ends.get(loop, started)
        config = answered[loop, agent] = config or answered.get((loop, agent))
        span = Span(started, max(started, ended or after))
        begun_turns.append(_Begun(loop, pk, ordinal, span, state == "open", config))
    return begun_turns


def _receive_times(loops: Collection[int]) -> dict[int, tuple[datetime | None, datetime | None]]:
    """Return the receive times of the first delta and of the end of each turn's answer. One query."""
    lines = EventRecord.objects.filter(loop__in=loops, turn__isnull=False)
    # Messages before the request are prompts, not answers.
    after_request = Q(turn__request_event=None) | Q(journal__gt=F("turn__request_event"))
    lines = lines.filter(after_request, type__in=("MessageStart", "MessageUpdate", "MessageEnd"))
    rows = lines.order_by().values("turn")
    rows = rows.annotate(
        first=Min(RECEIVED, filter=Q(type="MessageUpdate")),
        last=Max(RECEIVED, filter=Q(type="MessageUpdate")),
        begun=Min(RECEIVED, filter=Q(type="MessageStart", turn__request_event__isnull=False)),
        whole=Min(RECEIVED, filter=Q(type="MessageEnd", turn__request_event__isnull=False)),
    )
    return {row["turn"]: (row["first"] or row["begun"], row["whole"] or row["last"]) for row in rows}


def _answers(
    turns: Iterable[_Begun],
    received: Mapping[int, tuple[datetime | None, datetime | None]],
    tools: Iterable[Phase],
) -> list[Phase]:
    """Return for each turn the wait for the first delta, and the answer up to the first tool call."""
    first_tool: dict[tuple[int, int | None], datetime] = {}
    for tool in tools:
        key = tool.loop, tool.turn
        first_tool[key] = min(tool.span.start, first_tool.get(key, tool.span.start))
    phases: list[Phase] = []
    for turn in turns:
        first, last = received.get(turn.pk, (None, None))
        end = min(first_tool.get((turn.loop, turn.ordinal), turn.span.end), turn.span.end)
        start, is_received = turn.span.start, turn.holds(first)
        if first is not None and is_received:
            start = turn.clamped(first)
            waited = Span(turn.span.start, start)
            phases.append(
                Phase("wait", turn.loop, waited, turn.ordinal, is_received=True, config=turn.config)
            )
            if last is not None and turn.holds(last) and not turn.is_open:
                end = turn.clamped(last)
        span, is_open = Span(start, max(start, end)), turn.is_open
        answer = Phase("model", turn.loop, span, turn.ordinal, is_received=is_received, is_open=is_open)
        phases.append(replace(answer, config=turn.config))
    return phases


def _tools(loops: Collection[int], turns: Mapping[int, _Begun], end: datetime) -> tuple[list[Phase], int]:
    """Return tool calls, and the number of those without usable times. One query."""
    phases: list[Phase] = []
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
        kind: Kind = "failed" if state == "failed" else "tool"
        phases.append(Phase(kind, loop, span, turn.ordinal if turn else None, pk, name, received, is_open))
    return phases, timeless


def _approvals(loops: Collection[int], turns: Iterable[_Begun], end: datetime) -> list[Phase]:
    """Return approval requests, each with the turn that contains its start. One query."""
    within: dict[int, list[_Begun]] = defaultdict(list)
    for turn in turns:
        within[turn.loop].append(turn)
    rows = Approval.objects.filter(loop__in=loops, loop__isnull=False).order_by("pk")
    return [
        Phase(
            "approval",
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


def _compactions(loops: Collection[int], end: datetime) -> list[Phase]:
    rows = Compaction.objects.filter(loop__in=loops).order_by("pk")
    columns = rows.values_list("loop_id", "turn__ordinal", "started_at", "ended_at", "state")
    phases: list[Phase] = []
    for loop, turn, start, until, state in columns:
        begun = start or until
        if begun is not None:
            span = Span(begun, max(begun, until or end))
            phases.append(Phase("compaction", loop, span, turn, is_open=state == "running"))
    return phases

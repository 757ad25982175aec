"""Reads a session with its sub-agents as the records of a flame graph: their loops, turns and tool calls.

Two queries for each level of sub-agents, and nine. As of an event, it reads what had ended with that event,
in all sessions, as lines have one order in a project; what ran then lasts until its time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from django.db.models import Q, QuerySet

from dashboard.pages.flame.records import LEVELS, SESSIONS_MAX, TURNS_MAX, LoopRow, Records, Tool, TurnRow
from dashboard.pages.flame.tree import NOTHING, Amounts, added
from dashboard.shared.usage_bar import kinds
from recorder.core.ledger.costs import to_nano
from recorder.ledger import costs
from recorder.ledger.costs import Cost
from recorder.models import (
    ChildLoopRef,
    EventRecord,
    LoopRecord,
    ParallelGroupRecord,
    Session,
    ToolCall,
    Turn,
)

EPOCH, MS = datetime(1970, 1, 1, tzinfo=UTC), timedelta(milliseconds=1)
SLACK = 2_000  # allowed difference in ms between the clocks of agent and server, as on the timeline
OUTPUTS = ("usage-reasoning", "usage-output")


@dataclass(frozen=True, slots=True)
class Moment:
    """An event as of which a session is shown, and its time in ms; `event` None for now."""

    event: int | None = None
    time: int = 0

    def has(self, event: int | None) -> bool:
        """Return whether an event was recorded by then."""
        return event is not None and (self.event is None or event <= self.event)

    def until(self, name: str) -> Q:
        """Return the condition that the event of a column was recorded by then, or is unknown."""
        return Q() if self.event is None else Q(**{f"{name}__lte": self.event}) | Q(**{f"{name}": None})


@dataclass(slots=True)
class _Family:
    """A session with those of its sub-agents, and what called them: a loop and its tool call."""

    sessions: list[int]
    loops: dict[int, tuple[int, str]] = field(default_factory=dict)
    spawned: dict[int, tuple[int, str]] = field(default_factory=dict)
    deeper: int = 0


def session_of(project: int, pk: int) -> Session:
    """Return a session of the project. Raises Session.DoesNotExist."""
    return Session.objects.select_related("project").get(pk=pk, project=project)


def sessions(project: int, pks: Collection[int]) -> Mapping[int, Session]:
    """Return sessions of the project by primary key; one of another project is left out."""
    selected = Session.objects.select_related("project").filter(pk__in=pks, project=project)
    return {session.pk: session for session in selected}


def family(project: int, pks: Collection[int]) -> set[int]:
    """Return sessions with those of their sub-agents, as they are drawn. Two queries a level."""
    selected = sessions(project, pks).values()
    return {pk for session in selected for pk in _family(session, Moment()).sessions}


def moment_of(session: Session, event: int | None) -> Moment:
    """Return the moment of an event of a session. Raises EventRecord.DoesNotExist for one of another."""
    if event is None:
        return Moment()
    row = EventRecord.objects.select_related("journal").get(session=session, journal=event)
    return Moment(event, _ms(row.occurred_at or row.journal.received_at))


def records(session: Session, moment: Moment) -> Records:
    """Return a session with its sub-agents, up to LEVELS deep."""
    family = _family(session, moment)
    loops = LoopRecord.objects.filter(moment.until("start_event"), session__in=family.sessions)
    rows = list(loops.order_by("pk"))
    turns, is_cut = _turns([row.pk for row in rows], moment)
    tools = _tools([row.pk for row in rows], moment)
    spent = _cost_by_turn(turns)
    loop_rows: dict[int, LoopRow] = {}
    turns_of: dict[int, list[Turn]] = defaultdict(list)
    for turn in turns:
        turns_of[turn.loop_id].append(turn)
    for row in rows:
        span = _span(row, moment)
        divided = [
            _turn(turn, spent.get(turn.pk), tools.get(turn.pk, ()), span, moment) for turn in turns_of[row.pk]
        ]
        loop_rows[row.pk] = LoopRow(
            pk=row.pk,
            session=row.session_id,
            agent=row.agent_label or row.agent_id,
            role=row.role,
            start=span[0] if span else None,
            end=span[1] if span else None,
            rest=_rest_of(row, divided) if moment.has(row.end_event) or moment.event is None else NOTHING,
            turns=divided,
            called_by=family.loops.get(row.pk),
        )
    called = _with_callers(loop_rows, family)
    return _with_groups(Records(session.pk, called, deeper=family.deeper, is_cut=is_cut), family, moment)


def contexts(recorded: Records) -> dict[int, int]:
    """Return the tokens of the contexts of all turns."""
    return {turn.pk: turn.context.tokens for loop in recorded.loops.values() for turn in loop.turns}


def _family(session: Session, moment: Moment) -> _Family:
    """Return the sessions of sub-agents, level by level. A session is read once, so circles end."""
    family = _Family([session.pk])
    frontier = {session.pk}
    for level in range(LEVELS + 1):
        fresh = []
        for owner, loop, call, child, child_session in _links(session.project_id, frontier, moment):
            if child is not None and child != loop:
                family.loops.setdefault(child, (loop, call))
            if child_session != owner and child_session not in family.sessions:
                family.spawned.setdefault(child_session, (loop, call))
                fresh.append(child_session)
        frontier = set(fresh)
        room = SESSIONS_MAX + 1 - len(family.sessions)
        if level == LEVELS or len(frontier) > room:
            family.deeper = len(frontier)
            break
        if not frontier:
            break
        family.sessions += sorted(frontier)
    return family


def _links(
    project: int, sessions: Collection[int], moment: Moment
) -> Iterable[tuple[int, int, str, int | None, int]]:
    """Yield the calls of sub-agents: session, loop and tool call, the loop called if known, its session."""
    refs = ChildLoopRef.objects.filter(
        moment.until("event"), loop__session__in=sessions, child__session__project=project
    )
    columns = ("loop__session", "loop", "tool_call_id", "child", "child__session")
    yield from refs.order_by("pk").values_list(*columns)
    spawned = Session.objects.filter(parent__session__in=sessions, project=project).order_by("pk")
    of_spawned = ("pk", "parent__session", "parent", "spawn_tool_call_id")
    for pk, owner, loop, call in spawned.values_list(*of_spawned):
        yield owner, loop, call, None, pk


def _with_callers(loop_rows: Mapping[int, LoopRow], family: _Family) -> Mapping[int, LoopRow]:
    """Return the loops with their callers: those of a sub-agent's session have the one of that session."""
    callers = dict(family.spawned)
    for loop in loop_rows.values():
        if loop.called_by is not None and loop.session != family.sessions[0]:
            callers.setdefault(loop.session, loop.called_by)
    return {
        pk: loop if loop.called_by else replace(loop, called_by=callers.get(loop.session))
        for pk, loop in loop_rows.items()
    }


def _turns(loops: Collection[int], moment: Moment) -> tuple[Sequence[Turn], bool]:
    rows = Turn.objects.filter(moment.until("start_event"), loop__in=loops).order_by("loop", "ordinal")
    turns = list(rows[: TURNS_MAX + 1])
    return turns[:TURNS_MAX], len(turns) > TURNS_MAX


def _cost_by_turn(turns: Sequence[Turn]) -> Mapping[int, Cost]:
    ended = [turn.pk for turn in turns if turn.state == "done"]
    return costs.of_turns(ended) if ended else {}


def _tools(loops: Collection[int], moment: Moment) -> Mapping[int, Sequence[Tool]]:
    """Return the tool calls of turns. Times of receipt count only if they lie within the turn."""
    rows: QuerySet[ToolCall] = ToolCall.objects.filter(moment.until("start_event"), loop__in=loops)
    tools_of: dict[int, list[Tool]] = defaultdict(list)
    for row in rows.select_related("turn").order_by("pk"):
        if row.turn is None:
            continue
        start, end = row.started_at, row.ended_at
        if start is None or end is None or not moment.has(row.end_event):
            tools_of[row.turn.pk].append(Tool(row.tool_call_id, row.tool_name))
            continue
        first, last = _ms(start), _ms(end)
        is_far = first < _ms(row.turn.started_at) - SLACK or (
            row.turn.ended_at is not None and last > _ms(row.turn.ended_at) + SLACK
        )
        if last < first or (row.times_received and is_far):
            tools_of[row.turn.pk].append(Tool(row.tool_call_id, row.tool_name))
        else:
            tools_of[row.turn.pk].append(Tool(row.tool_call_id, row.tool_name, first, last))
    return tools_of


def _span(row: LoopRecord, moment: Moment) -> tuple[int, int] | None:
    if row.started_at is None:
        return None
    start = _ms(row.started_at)
    if moment.event is not None and not moment.has(row.end_event):
        return start, max(start, moment.time)
    return start, max(start, _ms(row.ended_at or row.last_event_at or row.started_at))


def _turn(
    turn: Turn, cost: Cost | None, tools: Sequence[Tool], span: tuple[int, int] | None, moment: Moment
) -> TurnRow:
    """Return a turn. One that has not ended by then lasts as long as its loop, and has no amounts."""
    start, is_over = _ms(turn.started_at), moment.event is None or moment.has(turn.end_event)
    until = _ms(turn.ended_at) if is_over and turn.ended_at is not None else span[1] if span else start
    context = output = rest = NOTHING
    if is_over:
        whole = _amounts(turn)
        made = sum(kind.count for kind in kinds(turn) if kind.css in OUTPUTS)
        if cost is not None and cost.divided is not None:
            sent, answered = to_nano([cost.divided.context, cost.divided.output])
            context, output = Amounts(sent, whole.tokens - made), Amounts(answered, made)
        else:
            context, output = Amounts(0, whole.tokens - made), Amounts(0, made)
        rest = Amounts(whole.cost - context.cost - output.cost, unpriced=whole.unpriced)
    return TurnRow(
        pk=turn.pk,
        ordinal=turn.ordinal,
        start=start,
        end=max(start, until),
        context=context,
        output=output,
        undivided=rest,
        tools=tools,
    )


def _amounts(record: Turn | LoopRecord | ParallelGroupRecord) -> Amounts:
    tokens = sum(kind.count for kind in kinds(record))
    return Amounts(record.cost_nano or 0, tokens, 0, record.unpriced)


def _rest_of(loop: LoopRecord, turns: Sequence[TurnRow]) -> Amounts:
    """Return what a loop has beyond its turns: all of it where a runtime reports a loop as one call."""
    whole = _amounts(loop)
    inside = added(part for turn in turns for part in (turn.context, turn.output, turn.undivided))
    left = (max(0, one - other) for one, other in zip(whole, inside, strict=True))
    return Amounts(*left)


def _with_groups(recorded: Records, family: _Family, moment: Moment) -> Records:
    """Add the evaluations that were billed without a loop, to the session or to a sub-agent's first loop."""
    rows = ParallelGroupRecord.objects.filter(session__in=family.sessions)
    loops, rest = dict(recorded.loops), recorded.rest
    for row in rows:
        amounts = _amounts(row)
        if not any(amounts) or (moment.event is not None and not moment.has(row.end_event)):
            continue
        first = next((loop for loop in loops.values() if loop.session == row.session_id), None)
        if row.session_id == recorded.session or first is None:
            rest = added((rest, amounts))
        else:
            loops[first.pk] = replace(first, rest=added((first.rest, amounts)))
    return replace(recorded, loops=loops, rest=rest)


def _ms(moment: datetime) -> int:
    return (moment - EPOCH) // MS

"""The input of the rules, of records and lines: ended calls and turns, and the loops they belong to."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from recorder.core.handlers.lifecycle import CANCELLED, outcome_of_stop
from recorder.core.waste.calls import Call, Ref, Turn, call_of, is_cut
from recorder.database import sql
from recorder.journal.read import texts
from recorder.search.documents import decode

TOOL_END, TURN_END, AGENT_START, AGENT_END = "ToolExecutionEnd", "TurnEnd", "AgentStart", "AgentEnd"
SHORTENED = ("CompactionEnded", "PrunApplied", "RevertApplied")  # the context, by what they name
_ENDS = """SELECT e.id, e.type, e.loop_id, l.session_id, j.project_id, COALESCE(e.turn_id, 0), l.agent_id,
l.end_event, CASE WHEN l.continuation_kind = 'Rerun' AND l.parent_loop_id IS NOT NULL THEN l.parent_id END,
e.occurred_at, j.received_at
FROM recorder_eventrecord e JOIN recorder_journalevent j ON j.id = e.id
JOIN recorder_looprecord l ON l.id = e.loop_id
JOIN recorder_session s ON s.id = l.session_id AND s.project_id = j.project_id
WHERE {} AND j.pruned_on IS NULL AND e.origin NOT IN ('told', 'kept') AND (e.type IN ('ToolExecutionEnd',
'TurnEnd', 'AgentEnd', 'CompactionEnded', 'PrunApplied', 'RevertApplied')
OR e.type = 'AgentStart' AND l.continuation_kind = 'Rerun')
AND (l.end_event IS NULL OR e.id <= l.end_event) ORDER BY e.id"""
_CALLS = """SELECT id, turn_id, tool_name, state, start_event, end_event FROM recorder_toolcall
WHERE {} AND start_event IS NOT NULL AND {}"""
_TURNS = """SELECT id, end_event, stop_reason, error, tool_calls, COALESCE(cost_nano, 0),
COALESCE(uncached_tokens, input_tokens) + output_tokens + cache_read_tokens + cache_write_tokens
FROM recorder_turn WHERE {} AND state = 'done'"""
_TURNS_OF_LOOPS = "SELECT id, end_event, loop_id FROM recorder_turn WHERE {} AND state = 'done' ORDER BY id"
_CALLS_OF_TURNS = "SELECT turn_id, id, end_event FROM recorder_toolcall WHERE {} AND end_event IS NOT NULL"
LINES = 20  # restored at once


class End(NamedTuple):
    """A line that ends a call, a turn or a loop, shortens the context, or begins a rerun.

    Lines behind the end of their loop are left out: they delay no user. So are lines whose bodies were
    pruned, and those of a session that is being deleted.
    """

    line: int
    type: str
    loop: int
    session: int
    project: int
    turn: int  # 0: none
    agent_id: str
    loop_end: int | None
    rerun_of: int | None  # the loop that this one runs again
    occurred_at: datetime | None
    received_at: datetime

    @property
    def at(self) -> datetime:
        """Return when it happened, which is never after its arrival."""
        return self.received_at if self.occurred_at is None else min(self.occurred_at, self.received_at)


@dataclass(frozen=True, slots=True)
class EndedTurn:
    """The record of a turn that ended."""

    id: int
    line: int
    is_cut: bool
    is_lost: bool
    tool_calls: int
    cost_nano: int


def ends_between(after: int, upto: int) -> list[End]:
    """Return what ended with the lines after one, up to another, in order. One query."""
    return [_end(row) for row in sql.read(_ENDS.format("e.id > %s AND e.id <= %s"), after, upto)]


def ends_of_session(session: int, upto: int) -> list[End]:
    """Return what ended in a session up to a line, in order. One query."""
    return [_end(row) for row in sql.read(_ENDS.format("e.session_id = %s AND e.id <= %s"), session, upto)]


def calls_of(ends: Sequence[End]) -> Iterator[tuple[int, Call]]:
    """Yield the tool calls that ended, by line; one whose lines are gone is left out.

    Cost: one query, one more for calls that ended after their turn, and one for `LINES` lines.
    """
    found = {row[5]: row for row in _call_rows(ends)}
    wanted = [found[end.line] for end in ends if end.line in found]
    for at in range(0, len(wanted), LINES // 2):
        part = wanted[at : at + LINES // 2]
        raws = texts([line for row in part for line in row[4:6]])
        for row in part:
            call = _call(row, raws)
            if call is not None:
                yield row[5], call


def turns_by_key(turns: Collection[int]) -> dict[int, EndedTurn]:
    """Return ended turns by their primary keys. One query."""
    rows = sql.read(_TURNS.format(sql.in_list("id")), sql.list_param(turns)) if turns else []
    return {row[0]: _turn(*row) for row in rows}


def turns_of_loops(loops: Collection[int]) -> dict[int, list[Ref]]:
    """Return the ended turns of each loop in order. One query."""
    found: dict[int, list[Ref]] = {}
    rows = sql.read(_TURNS_OF_LOOPS.format(sql.in_list("loop_id")), sql.list_param(loops)) if loops else []
    for turn, line, loop in rows:
        found.setdefault(loop, []).append(Ref(turn, None, line))
    return found


def calls_of_turns(turns: Collection[int]) -> dict[int, list[Ref]]:
    """Return the ended tool calls of each turn. One query."""
    found: dict[int, list[Ref]] = {}
    rows = sql.read(_CALLS_OF_TURNS.format(sql.in_list("turn_id")), sql.list_param(turns)) if turns else []
    for turn, call, line in rows:
        found.setdefault(turn, []).append(Ref(turn, call, line))
    return found


def rule_turn(turn: EndedTurn) -> Turn:
    """Return an ended turn as the rules take it."""
    return Turn(Ref(turn.id, None, turn.line), is_cut=turn.is_cut, is_lost=turn.is_lost)


def _call_rows(ends: Sequence[End]) -> list[tuple[sql.Value, ...]]:
    tool_ends = [end for end in ends if end.type == TOOL_END]
    if not tool_ends:
        return []
    lines = sql.list_param(end.line for end in tool_ends)
    turns = sql.list_param({end.turn for end in tool_ends})
    at_line = sql.in_list("end_event")
    rows = sql.read(_CALLS.format(sql.in_list("turn_id"), at_line), turns, lines)
    known = {row[5] for row in rows}
    late = [end for end in tool_ends if end.line not in known]
    if late:
        loops = sql.list_param({end.loop for end in late})
        lines = sql.list_param(end.line for end in late)
        rows += sql.read(_CALLS.format(sql.in_list("loop_id"), at_line), loops, lines)
    return rows


def _call(row: Sequence[sql.Value], raws: Mapping[int, bytes]) -> Call | None:
    pk, turn, tool, state, start_line, end_line = row
    if start_line not in raws or end_line not in raws or not turn:
        return None
    started, ended = decode(raws[start_line]), decode(raws[end_line])
    ref = Ref(turn, pk, end_line)
    return call_of(ref, tool, started.get("args"), ended.get("result"), has_failed=state == "failed")


def _turn(
    pk: int, line: int, stop: str, error: str, tool_calls: int, cost_nano: int, tokens: int
) -> EndedTurn:
    has_failed = error != CANCELLED and outcome_of_stop(stop, error) == "failed"
    is_lost = has_failed and not tool_calls and tokens > 0
    return EndedTurn(pk, line, is_cut(stop), is_lost, tool_calls, cost_nano)


def _end(row: Sequence[sql.Value]) -> End:
    values = [*row[:9], *map(sql.aware, row[9:])]
    return End(*values)

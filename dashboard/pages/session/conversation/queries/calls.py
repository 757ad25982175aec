"""Reads tool calls and the sub-agents they started."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from dashboard.pages.session.conversation.items import Child, Tool
from dashboard.pages.session.conversation.queries import approvals, lines
from dashboard.pages.session.conversation.turn import Call, tool, with_waiting
from dashboard.shared.compiled_query import Value, aware, in_list, list_param, select
from dashboard.shared.session_state import SHOWN as SESSION_STATE
from dashboard.shared.session_state import State, is_stale
from dashboard.shared.waste.queries import marks
from dashboard.web import links

OF_SESSION = len(SESSION_STATE)
_CALLS = f"""SELECT c.id, c.turn_id, c.loop_id, c.start_event, c.update_event, c.end_event, c.tool_call_id,
c.tool_name, c.summary, c.state, c.started_at, c.duration_ms, c.times_received, c.progress,
l.session_id, p.slug, t.ordinal, {marks.COLUMNS}, {", ".join(f"s.{name}" for name in SESSION_STATE)}
FROM recorder_toolcall c JOIN recorder_looprecord l ON l.id = c.loop_id
JOIN recorder_session s ON s.id = l.session_id JOIN recorder_project p ON p.id = s.project_id
LEFT JOIN recorder_turn t ON t.id = c.turn_id {marks.OF_CALL}
WHERE {{}} ORDER BY c.id"""  # noqa: S608  names
_CHILDREN = """SELECT r.loop_id, r.tool_call_id, r.child_session_id, p.slug, l.session_id, l.id, l.agent_id
FROM recorder_childloopref r LEFT JOIN recorder_looprecord l ON l.id = r.child_id
LEFT JOIN recorder_session s ON s.id = l.session_id LEFT JOIN recorder_project p ON p.id = s.project_id
WHERE {} AND {}"""
_RESULTS = """SELECT b.session, b.tool_call_id, MAX(b.tokens)
FROM recorder_ledgerblock b JOIN recorder_ledgercall k ON k.chain_id = b.chain_id AND k.number = b.first_call
WHERE {} AND {} AND b.tool_call_id <> '' AND k.end_event <= %s GROUP BY b.session, b.tool_call_id"""
_NOW = 2**63 - 1


@dataclass(frozen=True, slots=True)
class PlacedCall:
    """A tool call with its turn, loop and project."""

    turn: int | None
    loop: int
    slug: str
    call: Call


def tools(pks: Collection[int]) -> Mapping[int, Tool]:
    """Return tool calls with arguments and results, by primary key. Five queries."""
    placed_calls = calls(in_list("c.id"), list_param(pks))
    read = [line.body for line in lines.read(in_list("e.id"), list_param(events(placed_calls)))]
    bodies = {body.id: body for body in read if body.pruned_on is None}
    waiting_since = approvals.open_of({placed.loop for placed in placed_calls})
    return {
        placed.call.tool.pk: with_waiting(
            tool(placed.slug, placed.call, bodies), waiting_since.get((placed.loop, placed.call.tool_call_id))
        )
        for placed in placed_calls
    }


def calls(where: str, *values: Value) -> Sequence[PlacedCall]:
    """Return the calls that match `where`, in recorded order. Three queries at most.

    `where` is an SQL condition on the tool call table, aliased `c`.
    """
    rows = select(_CALLS.format(where), marks.until(), *values)
    records = [_Record(*(*row[:-OF_SESSION], State.of(row[-OF_SESSION:]))) for row in rows]
    children = _children(records)
    tokens = _tokens_of_results(records)
    return [
        PlacedCall(record.turn, record.loop, record.slug, _call(record, children, tokens))
        for record in records
    ]


def outside_turns() -> str:
    """Return the SQL condition for calls of some loops that belong to no turn.

    The unary plus stops SQLite from choosing the index on the turn.
    """
    return f"+c.turn_id IS NULL AND {in_list('c.loop_id')}"


def events(placed_calls: Collection[PlacedCall]) -> set[int]:
    """Return the ids of the events that hold the bodies of calls."""
    return {pk for placed in placed_calls for pk in placed.call.events}


class _Record(NamedTuple):
    """One row of `_CALLS`."""

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
    ordinal: int | None
    waste_rule: str | None
    first_loop: int | None
    first_turn: int | None
    first_call: int | None
    session_state: State

    @property
    def shown_state(self) -> str:
        """Return its state; a call that runs in a stale session is stale."""
        return "stale" if self.state == "running" and is_stale(self.session_state) else self.state

    @property
    def waste(self) -> marks.Mark | None:
        first = (self.first_loop, self.first_turn, self.first_call)
        return marks.mark(self.slug, self.session, self.ordinal, self.waste_rule, *first)

    @property
    def as_of(self) -> str:
        event = self.end or self.start
        return links.as_of(self.slug, self.session, event, loop=self.loop) if event else ""

    @property
    def block_url(self) -> str:
        """Return the place of the result in the block ledger; "" before the call has ended."""
        if not self.end or not self.tool_call_id:
            return ""
        url = links.loop(self.slug, self.session, self.loop, tab="context", call=self.tool_call_id)
        return f"{url}#ledger"


def _call(
    record: _Record, children: Mapping[tuple[int, str], Child], tokens: Mapping[tuple[int, str], int]
) -> Call:
    drawn = Tool(
        pk=record.pk,
        name=record.name,
        summary=record.summary,
        state=record.shown_state,
        started_at=aware(record.started_at),
        duration_ms=record.duration_ms,
        times_received=bool(record.times_received),
        progress=record.progress,
        child=children.get((record.loop, record.tool_call_id)),
        as_of=record.as_of,
        block_url=record.block_url,
        block_tokens=tokens.get((record.session, record.tool_call_id)),
        waste=record.waste,
    )
    return Call(record.tool_call_id, record.start, record.update, record.end, drawn)


def _children(records: Collection[_Record]) -> Mapping[tuple[int, str], Child]:
    if not records:
        return {}
    loops, named = {record.loop for record in records}, {record.tool_call_id for record in records}
    statement = _CHILDREN.format(in_list("r.loop_id"), in_list("r.tool_call_id"))
    return {
        (loop, call): Child(session_id, links.loop(slug, session, child) if child else "", agent or "")
        for loop, call, session_id, slug, session, child, agent in select(
            statement, list_param(loops), list_param(named)
        )
    }


def _tokens_of_results(records: Collection[_Record]) -> Mapping[tuple[int, str], int]:
    """Return the tokens of results in the block ledger, by session and tool call. One query at most.

    Cost: it reads the blocks of the sessions once, whatever the number of calls.
    """
    ended = {record.tool_call_id for record in records if record.block_url}
    if not ended:
        return {}
    sessions = {record.session for record in records}
    statement = _RESULTS.format(in_list("b.session"), in_list("b.tool_call_id"))
    at = links.as_of_event()
    rows = select(statement, list_param(sessions), list_param(ended), _NOW if at is None else at)
    return {(session, call): tokens for session, call, tokens in rows}

"""Lines that need not be read again: all that the recorder took of them stands in records.

A loop, a turn and a tool call hold what was taken of the lines that they begin and end with. Where such a
line may have done more than its record tells, it is read.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator
from datetime import datetime
from typing import NamedTuple, TypeAlias, TypeVar

from recorder.core.content.messages import Answer
from recorder.core.events import (
    AgentEnd,
    Event,
    ToolExecutionEnd,
    ToolExecutionStart,
    TurnEnd,
    TurnStart,
    Usage,
)
from recorder.core.events.base import construct
from recorder.core.handlers.taken import Asked, Ended, Said
from recorder.core.money import token_counts
from recorder.core.records import Json, Tokens
from recorder.database import sql
from recorder.database.sql import Value

_WITHIN = " AND (start_event BETWEEN %s AND %s OR end_event BETWEEN %s AND %s)"
_OF_LOOPS = "loop_id IN (SELECT id FROM recorder_looprecord WHERE {})"
_TOKENS = tuple(each.name for each in dataclasses.fields(Tokens))
_Counts: TypeAlias = tuple[int, ...]  # in the order of _TOKENS
_R = TypeVar("_R", bound=NamedTuple)


class OfLoop(NamedTuple):
    """What the record of a loop says now."""

    id: int
    loop_id: str
    role: str
    title: str
    config_id: int | None
    config_inferred: bool  # a line named it, not the loop's start
    activity: str
    outcome: str
    error: str
    rejection: str | None
    title_event: int | None
    start_event: int | None
    end_event: int | None
    tokens: _Counts


class _OfTurn(NamedTuple):
    turn_index: int
    triggered_by: str
    error: str
    model: str
    provider: str
    stop_reason: str
    said: str
    said_key: str
    cost_source: str
    cost_nano: int | None
    start_event: int | None
    end_event: int | None
    tokens: _Counts


class _OfTool(NamedTuple):
    tool_call_id: str
    tool_name: str
    summary: str
    arguments_key: str
    state: str
    duration_ms: int | None
    start_event: int | None
    end_event: int | None


class _OfRef(NamedTuple):
    event: int


class Span(NamedTuple):
    """Lines of some sessions: after one event, up to another."""

    sessions: Collection[int]
    after: int
    until: int

    def here(self, alias: str) -> str:
        """Return the SQL for being one of these lines, whose parameters are `values`."""
        return f"{sql.in_list(f'{alias}.session_id')} AND {alias}.id > %s AND {alias}.id <= %s"

    def values(self) -> tuple[Value, int, int]:
        return sql.list_param(self.sessions), self.after, self.until


class Known:
    """What the records of some sessions tell of the lines of a span. Four queries."""

    def __init__(self, span: Span) -> None:
        ids, within = sql.list_param(span.sessions), (span.after + 1, span.until)
        here = sql.in_list("session_id")
        of_loops = _OF_LOOPS.format(here)
        self.loops = {each.id: each for each in _read(OfLoop, "looprecord", here, ids)}
        self._turns: dict[int | None, _OfTurn] = {}
        self._tools: dict[int | None, _OfTool] = {}
        for turn in _read(_OfTurn, "turn", of_loops + _WITHIN, ids, *within, *within):
            self._turns[turn.start_event] = self._turns[turn.end_event] = turn
        for tool in _read(_OfTool, "toolcall", of_loops + _WITHIN, ids, *within, *within):
            self._tools[tool.start_event] = self._tools[tool.end_event] = tool
        refs = _read(_OfRef, "childloopref", f"{of_loops} AND event BETWEEN %s AND %s", ids, *within)
        self._naming = {ref.event for ref in refs}  # lines that name the loop of a sub-agent

    def has(self, kind: str, event: int, loop: int | None) -> bool:
        """Say whether a line need not be read, unless its loop was another one before it."""
        match kind:
            case "TurnStart":
                return event in self._turns
            case "TurnEnd":
                return event in self._turns and not self._turns[event].error
            case "ToolExecutionStart":
                return event in self._tools
            case "ToolExecutionEnd":
                return event in self._tools and event not in self._naming
            case "AgentEnd" if loop is not None:
                of = self.loops[loop]
                return of.end_event == event != of.title_event and of.role != "judge"
            case _:
                return False

    def event(self, kind: str, event: int, at: datetime | None, loop: int) -> Event:
        """Return what a line said, of which `has` was true."""
        of = self.loops[loop]
        match kind:
            case "TurnStart":
                return _turn_start(of.loop_id, at, self._turns[event])
            case "TurnEnd":
                return _turn_end(of, at, self._turns[event])
            case "ToolExecutionStart":
                return _tool_start(of.loop_id, at, self._tools[event])
            case "ToolExecutionEnd":
                return _tool_end(of.loop_id, at, self._tools[event])
            case _:
                return _agent_end(of, at)

    def prompt(self, event: int, loop: int | None) -> Json:
        """Return the message with which an event named its loop, as far as it did."""
        if loop is None or self.loops[loop].title_event != event:
            return None
        return {"role": "user", "content": self.loops[loop].title}


def _read(kind: type[_R], table: str, where: str, *values: Value) -> Iterator[_R]:
    """Read records, of which token counts are the last field if they have any."""
    names = [name for name in kind.__annotations__ if name != "tokens"]
    counts = _TOKENS if "tokens" in kind.__annotations__ else ()
    fields = ", ".join((*names, *counts))
    statement = f"SELECT {fields} FROM recorder_{table} WHERE {where}"
    rows = sql.read(statement, *values)
    return (kind(*row[: len(names)], *([row[len(names) :]] if counts else ())) for row in rows)


def _turn_start(loop_id: str, at: datetime | None, turn: _OfTurn) -> Event:
    return construct(
        TurnStart,
        type="TurnStart",
        loop_id=loop_id,
        timestamp=at,
        turn_index=turn.turn_index,
        triggered_by=turn.triggered_by,
    )


def _turn_end(loop: OfLoop, at: datetime | None, turn: _OfTurn) -> Event:
    answer = Answer(turn.model, turn.provider, turn.stop_reason, "")
    return construct(
        TurnEnd,
        type="TurnEnd",
        loop_id=loop.loop_id,
        timestamp=at,
        turn_index=turn.turn_index,
        # A loop that never got a config was never answered.
        message=None if loop.config_id is None else Said(answer, turn.said, turn.said_key),
        usage=_usage(turn.tokens),
        tool_results=None,
        cost=f"{turn.cost_nano}e-9" if turn.cost_source == "reported" else None,
    )


def _tool_start(loop_id: str, at: datetime | None, tool: _OfTool) -> Event:
    return construct(
        ToolExecutionStart,
        type="ToolExecutionStart",
        loop_id=loop_id,
        timestamp=at,
        tool_call_id=tool.tool_call_id,
        tool_name=tool.tool_name,
        args=Asked(tool.summary, tool.arguments_key),
    )


def _tool_end(loop_id: str, at: datetime | None, tool: _OfTool) -> Event:
    return construct(
        ToolExecutionEnd,
        type="ToolExecutionEnd",
        loop_id=loop_id,
        timestamp=at,
        tool_call_id=tool.tool_call_id,
        tool_name=tool.tool_name,
        result=None,
        is_error=tool.state == "failed",
        child_loop_id=None,
        duration_ms=tool.duration_ms,
    )


def _agent_end(loop: OfLoop, at: datetime | None) -> Event:
    return construct(
        AgentEnd,
        type="AgentEnd",
        loop_id=loop.loop_id,
        timestamp=at,
        messages=Ended(loop.activity),
        usage=_usage(loop.tokens),
        rejection=loop.rejection,
        outcome=loop.outcome,
        error=loop.error,
    )


def _usage(counts: _Counts) -> Usage:
    return token_counts.usage_of(Tokens(**dict(zip(_TOKENS, counts, strict=True))))

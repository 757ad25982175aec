"""Ended calls as their records have them: which ended between two lines, and what was reported of each."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from recorder.database import sql

_TURNS = """SELECT t.id, t.loop_id, l.session_id, s.project_id, t.agent_id, l.agent_id, l.role,
l.continuation_kind, t.model, t.provider, COALESCE(c.model, ''), COALESCE(c.provider, ''), t.started_at,
COALESCE(t.start_event, t.end_event), t.request_event, t.end_event, t.uncached_tokens, t.visible_tokens,
t.cache_read_tokens, t.cache_write_tokens, t.cache_write_1h_tokens, t.reasoning_tokens, t.unreconciled
FROM recorder_turn t JOIN recorder_looprecord l ON l.id = t.loop_id
JOIN recorder_session s ON s.id = l.session_id
LEFT JOIN recorder_modelconfig c ON c.id = t.config_id
WHERE t.state = 'done' AND {} ORDER BY t.end_event"""
_ENDS = """SELECT e.id, t.id, t.loop_id, l.session_id, j.project_id FROM recorder_eventrecord e
JOIN recorder_journalevent j ON j.id = e.id JOIN recorder_turn t ON t.id = e.turn_id AND t.end_event = e.id
JOIN recorder_looprecord l ON l.id = t.loop_id
JOIN recorder_session s ON s.id = l.session_id AND s.project_id = j.project_id
WHERE e.id > %s AND e.id <= %s AND e.type = 'TurnEnd' AND e.origin NOT IN ('told', 'kept') ORDER BY e.id"""
_ENDS_OF_SESSION = """SELECT t.end_event, t.id, t.loop_id, l.session_id, s.project_id FROM recorder_turn t
JOIN recorder_looprecord l ON l.id = t.loop_id JOIN recorder_session s ON s.id = l.session_id
WHERE l.session_id = %s AND t.state = 'done' AND t.end_event <= %s ORDER BY t.end_event"""
PROMPT_MAX = 10**12  # tokens; a larger count is no measure of a request


@dataclass(frozen=True, slots=True)
class Turn:
    """The record of an ended call. Token counts are None if they do not reconcile."""

    id: int
    loop: int
    session: int
    project: int
    switched_to: str
    loop_agent: str
    role: str
    continuation_kind: str
    answered_model: str
    answered_provider: str
    config_model: str
    config_provider: str
    started_at: datetime
    start_event: int
    request_event: int | None
    end_event: int
    uncached: int | None
    visible: int | None
    cache_read: int
    cache_write: int
    cache_write_1h: int
    reasoning: int
    unreconciled: int

    @property
    def agent_id(self) -> str:
        return self.switched_to or self.loop_agent

    @property
    def model(self) -> str:
        return self.answered_model or self.config_model

    @property
    def provider(self) -> str:
        known = self.answered_provider
        return known if known not in ("", "unknown") else self.config_provider

    @property
    def prompt(self) -> int | None:
        if self.unreconciled or self.uncached is None:
            return None
        found = self.uncached + self.cache_read + self.cache_write
        return found if 0 < found <= PROMPT_MAX else None


class End(NamedTuple):
    """The end of a call: its line, and the primary keys of its turn, loop, session and project."""

    line: int
    turn: int
    loop: int
    session: int
    project: int


def ends_between(after: int, upto: int) -> list[End]:
    """Return the calls that ended with the lines after one, up to another, in order. One query."""
    return [End(*row) for row in sql.read(_ENDS, after, upto)]


def ends_of_session(session: int, upto: int) -> list[End]:
    """Return the calls of a session that ended up to a line, in order. One query."""
    return [End(*row) for row in sql.read(_ENDS_OF_SESSION, session, upto)]


def ended(turns: Collection[int]) -> list[Turn]:
    """Return ended calls by their primary keys, in the order in which they ended. One query."""
    rows = sql.read(_TURNS.format(sql.in_list("t.id")), sql.list_param(turns))
    return [_turn(row) for row in rows]


def _turn(row: Sequence[sql.Value]) -> Turn:
    values = list(row)
    at = values[12]
    values[12] = sql.aware(at)
    return Turn(*values)

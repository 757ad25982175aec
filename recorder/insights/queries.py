"""Queries of the consolidation: ended loops and their tool calls."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from recorder.core.content.messages import text_of
from recorder.core.events import ToolExecutionEnd, ToolExecutionStart
from recorder.core.formats import InvalidLineError
from recorder.core.formats.native import NO_LIMITS, parse
from recorder.core.insights.solutions import error_line
from recorder.core.insights.tool_steps import Call, step_of, subject_of
from recorder.database import sql
from recorder.journal.read import texts
from recorder.models import ToolCall

LINES = 25  # restored at once
MOST_CALLS = 20_000  # of one loop; later calls are ignored

# The consolidation of a loop is stored by loop, so that it survives a rebuild and the pruning of events.
_UNREAD = """SELECT l.id, l.agent_id, s.is_demo, COALESCE(l.started_at, l.last_event_at, s.created_at),
             s.last_event_at
             FROM recorder_looprecord l JOIN recorder_session s ON s.id = l.session_id
             WHERE s.project_id = %s AND l.id > %s AND l.status NOT IN ('pending', 'running')
             AND NOT EXISTS (SELECT 1 FROM recorder_readloop r WHERE r.loop = l.id) ORDER BY l.id LIMIT %s"""
_STILL = """SELECT l.id FROM recorder_looprecord l WHERE {}
            AND NOT EXISTS (SELECT 1 FROM recorder_readloop r WHERE r.loop = l.id)"""
_COLUMNS = (
    "start_event", "end_event", "tool_name", "arguments_key", "state", "started_at", "ended_at"
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Loop:
    """An ended loop; `at` is its start, or the best known time if its start has none.

    Nothing in it happened after `latest`, the last event of its session: a later time is in the future.
    """

    id: int
    project: int
    agent_id: str
    is_demo: bool
    at: datetime
    latest: datetime


def unconsolidated(project: int, after: int, most: int) -> list[Loop]:
    """Return at most `most` ended loops that are not consolidated, by key, from the one after `after` on."""
    rows = sql.read(_UNREAD, project, after, most)
    return [
        Loop(pk, project, agent, bool(is_demo), _moment(at), _moment(latest))
        for pk, agent, is_demo, at, latest in rows
    ]


def still_unconsolidated(loops: Collection[int]) -> set[int]:
    """Return which of these loops still exist and are still not consolidated."""
    return {pk for (pk,) in sql.read(_STILL.format(sql.in_list("l.id")), sql.list_param(loops))}


def calls(loop: int) -> list[Call]:
    """Return the tool calls of a loop in the order of their starts, with their arguments and errors."""
    rows = ToolCall.objects.filter(loop=loop).order_by("start_event", "pk").values_list(*_COLUMNS)
    started = [row for row in rows[:MOST_CALLS] if row[0] is not None]  # a denied call never starts
    found: list[Call] = []
    for at in range(0, len(started), LINES):
        found += _calls(started[at : at + LINES])
    return found


def events(lines: Collection[int]) -> Iterator[tuple[int, object]]:
    """Yield the ids and events of journal lines; pruned and unreadable lines are skipped."""
    for line, text in texts(lines).items():
        try:
            yield line, parse(text, limits=NO_LIMITS)
        except InvalidLineError:
            continue


def _calls(rows: Sequence[tuple[sql.Value, ...]]) -> list[Call]:
    wanted = {row[0] for row in rows} | {row[1] for row in rows if row[4] == "failed"}
    by_line = dict(events(wanted - {None}))
    return [_call(by_line, *row) for row in rows]


def _call(
    by_line: Mapping[int, object],
    start: int,
    end: int | None,
    tool: str,
    key: str,
    state: sql.Value,
    began_at: datetime | None,
    ended_at: datetime | None,
) -> Call:
    begun, ended = by_line.get(start), by_line.get(end or 0)
    arguments = begun.args if isinstance(begun, ToolExecutionStart) else None
    return Call(
        start=start,
        end=end or start,
        tool=tool,
        step=step_of(tool, arguments),
        subject=subject_of(arguments),
        arguments_key=key,
        state="cut" if state == "running" else state,
        error=error_line(_answer(ended.result)) if isinstance(ended, ToolExecutionEnd) else "",
        started_at=began_at,
        ended_at=ended_at,
    )


def _answer(result: object) -> str:
    if isinstance(result, str):
        return result
    return text_of(result) if isinstance(result, dict) else ""


def _moment(at: datetime | str) -> datetime:
    """Return a time read by plain SQL: SQLite returns text."""
    found = sql.aware(datetime.fromisoformat(at) if isinstance(at, str) else at)
    assert found is not None
    return found

"""What consolidation reads: loops that have ended, and their tool calls."""

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

LINES = 25  # whose texts are held at once
MOST_CALLS = 20_000  # of one loop; what it does after that is not looked at

# `read` is kept by loops, so that it outlasts what a rebuild or the retention does to events.
_UNREAD = """SELECT l.id, l.agent_id, s.is_demo, COALESCE(l.started_at, l.last_event_at, s.created_at)
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
    """A loop that has ended; `at` is when, as far as anybody knows."""

    id: int
    project: int
    agent_id: str
    is_demo: bool
    at: datetime


def unread(project: int, after: int, most: int) -> list[Loop]:
    """Return loops that ended and were not read, oldest first."""
    rows = sql.read(_UNREAD, project, after, most)
    return [Loop(pk, project, agent, bool(is_demo), _moment(at)) for pk, agent, is_demo, at in rows]


def still_unread(loops: Collection[int]) -> set[int]:
    """Return which loops are there, and nobody has read meanwhile."""
    return {pk for (pk,) in sql.read(_STILL.format(sql.in_list("l.id")), sql.list_param(loops))}


def calls(loop: int) -> list[Call]:
    """Return the tool calls of a loop in the order in which they began, with what their lines say."""
    rows = ToolCall.objects.filter(loop=loop).order_by("start_event", "pk").values_list(*_COLUMNS)
    known = [row for row in rows[:MOST_CALLS] if row[0] is not None]  # one that was denied never began
    found: list[Call] = []
    for at in range(0, len(known), LINES):
        found += _calls(known[at : at + LINES])
    return found


def events(lines: Collection[int]) -> Iterator[tuple[int, object]]:
    """Return what lines say; one whose text is gone, or says nothing that we understand, is left out."""
    for line, text in texts(lines).items():
        try:
            yield line, parse(text, limits=NO_LIMITS)
        except InvalidLineError:
            continue


def _calls(rows: Sequence[tuple[sql.Value, ...]]) -> list[Call]:
    wanted = {row[0] for row in rows} | {row[1] for row in rows if row[4] == "failed"}
    said = dict(events(wanted - {None}))
    return [_call(said, *row) for row in rows]


def _call(
    said: Mapping[int, object],
    start: int,
    end: int | None,
    tool: str,
    key: str,
    state: sql.Value,
    began_at: datetime | None,
    ended_at: datetime | None,
) -> Call:
    begun, ended = said.get(start), said.get(end or 0)
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
    """Return a time as it is read through SQL, which SQLite gives as text."""
    found = sql.aware(datetime.fromisoformat(at) if isinstance(at, str) else at)
    assert found is not None
    return found

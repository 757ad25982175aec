"""Actions of the tool calls of a session on files, from their recorded arguments and results.

Bound: the newest `CALLS` calls of a session, which the page says. Cost: their arguments are read once, and
the results of the commands on the shown page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from recorder.core.files.exit_codes import exit_code
from recorder.core.files.touches import Touch, touches
from recorder.journal.read import texts
from recorder.models import Session, ToolCall
from recorder.search.documents import decode

CALLS = 1_000
AT_ONCE = 50  # calls whose lines are in memory together
READ = ("tool_name", "state", "started_at", "start_event", "end_event", "loop", "turn__ordinal")


class Call(NamedTuple):
    """The tool call that touched a file."""

    pk: int
    loop: int
    turn: int | None  # its number in the loop, from 1
    tool: str
    state: str
    started_at: datetime | None
    end_event: int | None


class Touched(NamedTuple):
    """One touch with its call."""

    call: Call
    touch: Touch


@dataclass(frozen=True, slots=True)
class SessionFiles:
    """The touches of a session in order; `left_out` calls are older than those that were read.

    `unread` calls have no recorded arguments, because their lines were pruned or never came.
    """

    found: Sequence[Touched]
    left_out: int
    unread: int


def session_of(project: int, pk: int) -> Session:
    """Return a session of the project. Raises Session.DoesNotExist."""
    return Session.objects.defer("formation", "summary").get(project=project, pk=pk)


def files_of(session: Session) -> SessionFiles:
    """Return what the newest calls of a session did. Two queries, and one for each `AT_ONCE` calls."""
    calls = ToolCall.objects.filter(loop__session=session)
    newest = list(calls.select_related("turn").only(*READ).order_by("-pk")[:CALLS])
    total = len(newest) if len(newest) < CALLS else calls.count()
    all_touched: list[Touched] = []
    unread, in_order = 0, newest[::-1]
    for part in (in_order[at : at + AT_ONCE] for at in range(0, len(in_order), AT_ONCE)):
        lines = texts({call.start_event for call in part if call.start_event is not None})
        for call in part:
            all_touched += _touched(call, lines.get(call.start_event or 0))
        unread += sum(call.start_event not in lines for call in part)
    return SessionFiles(all_touched, total - len(newest), unread)


def exit_codes(shown: Sequence[Touched]) -> dict[int, int]:
    """Return the exit codes of commands by the primary keys of their calls, where results state one."""
    calls = [touched.call for touched in shown if touched.touch.command]
    ends = {call.pk: call.end_event for call in calls if call.end_event}
    lines = texts(set(ends.values()))
    codes = {pk: exit_code(decode(lines.get(event, b"")).get("result")) for pk, event in ends.items()}
    return {pk: code for pk, code in codes.items() if code is not None}


def _touched(call: ToolCall, line: bytes | None) -> Iterator[Touched]:
    if line is None:
        return
    about = Call(
        call.pk,
        call.loop_id,
        call.turn.ordinal + 1 if call.turn else None,
        call.tool_name,
        call.state,
        call.started_at,
        call.end_event,
    )
    for touch in touches(call.tool_name, decode(line).get("args")):
        yield Touched(about, touch)

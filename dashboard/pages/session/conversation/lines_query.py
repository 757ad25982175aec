"""Recorded lines and where they belong: the one way in which conversations read the journal."""

from __future__ import annotations

from dataclasses import dataclass

from dashboard.pages.session.events.bodies import Body, Object, decode
from dashboard.shared.compiled_query import Value, aware, select
from recorder.core.records import FOREIGN_ORIGINS
from recorder.journal.read import texts

# A conversation never reads these: what was sent repeats everything, and what streamed is in its message.
SILENT = ("MessageUpdate", "TurnRequest", "AgentStart", "AgentEnd", "UsageSnapshot", "SessionInfo")

# As SQL, like all that a turn is read by: an open page is drawn at every event, and to have Django word
# these queries took three times as long as to run them.
_READ = f"""SELECT e.id, e.type, e.turn_id, e.loop_id, e.occurred_at, e.late, j.received_at, j.pruned_on
FROM recorder_eventrecord e JOIN recorder_journalevent j ON j.id = e.id
WHERE ({{}}) AND e.origin NOT IN {FOREIGN_ORIGINS} AND e.type NOT IN {SILENT} ORDER BY e.id"""  # noqa: S608  names


@dataclass(frozen=True, slots=True)
class Line:
    """A body, and the turn and loop it belongs to."""

    turn: int | None
    loop: int | None
    body: Body


def read(where: str, *values: Value, newest: int | None = None) -> list[Line]:
    """Return lines in recorded order; of more than `newest` only the last. Two queries.

    `where` is SQL about an event `e`.
    """
    statement = _READ.format(where)
    if newest is None:
        chosen = select(statement, *values)
    else:
        chosen = select(f"{statement} DESC LIMIT %s", *values, newest)[::-1]
    raws = texts([row[0] for row in chosen])
    return [
        Line(turn, loop, Body(pk, kind, _said(raws.get(pk)), at, occurred is None, bool(late), pruned_on))
        for pk, kind, turn, loop, occurred, late, received, pruned_on in chosen
        if (at := aware(occurred or received))
    ]


def _said(raw: bytes | None) -> Object:
    return {} if raw is None else decode(raw)

"""Reads the recorded lines of conversations from the journal; the only module that does so for them."""

from __future__ import annotations

from dataclasses import dataclass

from dashboard.pages.session.events.bodies import Body, Object, decode
from dashboard.shared.compiled_query import Value, aware, select
from recorder.core.records import FOREIGN_ORIGINS
from recorder.journal.read import texts

# Not read: requests repeat the whole context, and streamed deltas are contained in their message.
SILENT = ("MessageUpdate", "TurnRequest", "AgentStart", "AgentEnd", "UsageSnapshot", "SessionInfo")

# Foreign lines are not read: their translation is recorded as native events.
# Plain SQL, like all queries of a turn: an open page is rendered at every event, and building these queries
# with the ORM took three times as long as running them.
_READ = f"""SELECT e.id, e.type, e.turn_id, e.loop_id, e.occurred_at, e.late, j.received_at, j.pruned_on
FROM recorder_eventrecord e JOIN recorder_journalevent j ON j.id = e.id
WHERE ({{}}) AND e.origin NOT IN {FOREIGN_ORIGINS} AND e.type NOT IN {SILENT} ORDER BY e.id"""  # noqa: S608  names


@dataclass(frozen=True, slots=True)
class Line:
    """A decoded line with its turn and loop."""

    turn: int | None
    loop: int | None
    body: Body


def read(where: str, *values: Value, newest: int | None = None) -> list[Line]:
    """Return lines in recorded order, at most the last `newest`. Two queries.

    `where` is an SQL condition on the event table, aliased `e`.
    """
    statement = _READ.format(where)
    if newest is None:
        chosen = select(statement, *values)
    else:
        chosen = select(f"{statement} DESC LIMIT %s", *values, newest)[::-1]
    raws = texts([row[0] for row in chosen])
    return [
        Line(turn, loop, Body(pk, kind, _event(raws.get(pk)), at, occurred is None, bool(late), pruned_on))
        for pk, kind, turn, loop, occurred, late, received, pruned_on in chosen
        if (at := aware(occurred or received))
    ]


def _event(raw: bytes | None) -> Object:
    return {} if raw is None else decode(raw)

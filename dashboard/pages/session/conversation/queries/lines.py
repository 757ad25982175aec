"""The recorded lines of conversations, read from the journal."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime
from typing import NamedTuple

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


class LineRecord(NamedTuple):
    """The record of a line: everything but its body, as it was read: times may be without a zone.

    A tuple, since a page of turns has hundreds.
    """

    id: int
    type: str
    turn: int | None
    loop: int | None
    occurred_at: datetime | None
    late: bool
    received_at: datetime
    pruned_on: date | None


@dataclass(frozen=True, slots=True)
class ConversationLine:
    """A decoded line with its turn and loop."""

    turn: int | None
    loop: int | None
    body: Body

    @property
    def id(self) -> int:
        return self.body.id

    @property
    def type(self) -> str:
        return self.body.type


def read(where: str, *values: Value, newest: int | None = None) -> list[ConversationLine]:
    """Return lines in recorded order, at most the last `newest`. Two queries.

    `where` is an SQL condition on the event table, aliased `e`.
    """
    line_records = records(where, *values, newest=newest)
    decoded = bodies(line_records)
    return [ConversationLine(line.turn, line.loop, decoded[line.id]) for line in line_records]


def records(where: str, *values: Value, newest: int | None = None) -> list[LineRecord]:
    """Return the records of lines in recorded order, at most the last `newest`. One query."""
    statement = _READ.format(where)
    if newest is None:
        chosen = select(statement, *values)
    else:
        chosen = select(f"{statement} DESC LIMIT %s", *values, newest)[::-1]
    return [LineRecord(*row) for row in chosen]


def bodies(lines: Collection[LineRecord]) -> dict[int, Body]:
    """Return the decoded lines of records by their ids. One query."""
    raws = texts([line.id for line in lines])
    return {line.id: _body(line, raws.get(line.id)) for line in lines}


def _body(line: LineRecord, raw: bytes | None) -> Body:
    event: Object = {} if raw is None else decode(raw)
    at = aware(line.occurred_at or line.received_at)
    assert at is not None
    return Body(line.id, line.type, event, at, line.occurred_at is None, bool(line.late), line.pruned_on)

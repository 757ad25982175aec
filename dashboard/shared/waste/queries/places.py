"""Occurrences of waste: turns and tool calls, with links to them. One query each."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from dashboard.shared.compiled_query import in_list, list_param, select
from dashboard.shared.waste.queries.wastes import LAST
from dashboard.web import links

_CALLS = """SELECT c.waste_id, c.session, c.loop, t.ordinal, COALESCE(c.tool_call, 0)
FROM recorder_wastedcall c JOIN recorder_turn t ON t.id = c.turn
WHERE {} AND c.line <= %s ORDER BY c.line, c.id"""
_LINES = """SELECT e.id, l.session_id, t.loop_id, t.ordinal, COALESCE(k.id, 0)
FROM recorder_eventrecord e JOIN recorder_turn t ON t.id = e.turn_id
JOIN recorder_looprecord l ON l.id = t.loop_id
LEFT JOIN recorder_toolcall k ON k.turn_id = t.id AND k.end_event = e.id
WHERE {}"""


@dataclass(frozen=True, slots=True)
class Place:
    """A turn of a loop, or a tool call within it; `tool` is its primary key or 0."""

    session: int
    loop: int
    ordinal: int
    tool: int

    @property
    def number(self) -> int:
        return self.ordinal + 1

    def url(self, slug: str) -> str:
        """Return the link to it in the conversation."""
        page = links.loop(slug, self.session, self.loop, turn=self.number)
        return f"{page}#session-tool-{self.tool}" if self.tool else f"{page}#turn-{self.number}"


def of_calls(wastes: Collection[int]) -> Mapping[int, list[Place]]:
    """Return the places of the wasted calls of each waste, in the order in which they were found."""
    places_of: dict[int, list[Place]] = {}
    if wastes:
        statement = _CALLS.format(in_list("c.waste_id"))
        for waste, *place in select(statement, list_param(wastes), links.as_of_event() or LAST):
            places_of.setdefault(waste, []).append(Place(*place))
    return places_of


def of_lines(lines: Collection[int]) -> Mapping[int, Place]:
    """Return the places of recorded lines that belong to turns, by line."""
    if not lines:
        return {}
    statement = _LINES.format(in_list("e.id"))
    return {line: Place(*place) for line, *place in select(statement, list_param(lines))}

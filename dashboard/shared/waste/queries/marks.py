"""Marks of waste at turns and tool calls: the rule, and the place of the first occurrence.

Queries of calls and of turns join `OF_CALL` or `OF_TURN`, whose one parameter is `until()`, and select
`COLUMNS`, so that marks cost no query of their own. A call has at most one mark.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from dashboard.shared.compiled_query import Value, in_list, list_param, select
from dashboard.shared.waste.queries.wastes import LAST
from dashboard.shared.waste.words import label, repeated
from dashboard.web import links

COLUMNS = "mw.rule, mf.loop_id, mf.ordinal, mc.id"
TURN_COLUMNS = """mw.rule AS waste_rule, mf.loop_id AS first_loop, mf.ordinal AS first_turn,
mc.id AS first_call"""
_FIRST = """LEFT JOIN recorder_waste mw ON mw.id = mk.waste_id
LEFT JOIN recorder_eventrecord me ON me.id = mw.first_line
LEFT JOIN recorder_turn mf ON mf.id = me.turn_id
LEFT JOIN recorder_toolcall mc ON mc.turn_id = mf.id AND mc.end_event = mw.first_line"""
OF_CALL = f"""LEFT JOIN recorder_wastedcall mk
ON mk.turn = c.turn_id AND mk.tool_call = c.id AND mk.line <= %s {_FIRST}"""
OF_TURN = f"""LEFT JOIN recorder_wastedcall mk
ON mk.turn = t.id AND mk.tool_call IS NULL AND mk.line <= %s {_FIRST}"""
_OF_LOOPS = f"""SELECT mk.loop, t.ordinal, COALESCE(mk.tool_call, 0), mk.session, {COLUMNS}
FROM recorder_wastedcall mk JOIN recorder_turn t ON t.id = mk.turn {_FIRST}
WHERE {{}} AND mk.line <= %s"""  # noqa: S608  names


@dataclass(frozen=True, slots=True)
class Mark:
    """The mark of a turn or a call; `url` leads to the first occurrence, "" if that is unknown."""

    rule: str
    words: str
    url: str

    @property
    def label(self) -> str:
        return label(self.rule)


@dataclass(frozen=True, slots=True)
class LoopMarks:
    """The marks of one loop: of tool calls by primary key, and of whole turns by position."""

    tools: dict[int, Mark] = field(default_factory=dict)
    turns: dict[int, Mark] = field(default_factory=dict)


NO_MARKS = LoopMarks()


def until() -> int:
    """Return the last line of the page: the event that it is rendered for, or any."""
    return links.as_of_event() or LAST


def mark(slug: str, session: int, ordinal: int | None, *columns: Value) -> Mark | None:
    """Return the mark of `COLUMNS`, at a turn with this position; None without waste."""
    rule, loop, first, call = columns
    if rule is None:
        return None
    if first is None or (call is None and first == ordinal):  # nothing to compare with
        return Mark(rule, repeated(rule, ""), "")
    url = links.loop(slug, session, loop, turn=first + 1)
    place = "this turn" if first == ordinal else f"turn {first + 1:,}"
    anchor = f"session-tool-{call}" if call else f"turn-{first + 1}"
    return Mark(rule, repeated(rule, place), f"{url}#{anchor}")


def of_turn(turn: Any, slug: str, session: int) -> Mark | None:
    """Return the mark of a turn that was read with `TURN_COLUMNS`."""
    first = (turn.first_loop, turn.first_turn, turn.first_call)
    return mark(slug, session, turn.ordinal, turn.waste_rule, *first)


def of_loops(slug: str, loops: Collection[int]) -> Mapping[int, LoopMarks]:
    """Return the marks of loops that have any. One query."""
    marks_of: dict[int, LoopMarks] = defaultdict(LoopMarks)
    if loops:
        statement = _OF_LOOPS.format(in_list("mk.loop"))
        for loop, ordinal, tool, session, *columns in select(statement, list_param(loops), until()):
            made = mark(slug, session, ordinal, *columns)
            if made and tool:
                marks_of[loop].tools[tool] = made
            elif made:
                marks_of[loop].turns[ordinal] = made
    return marks_of

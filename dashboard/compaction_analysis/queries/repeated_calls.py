"""Calls that ran again after a pass: the same tool and arguments, the result no longer in the context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.compaction_analysis.message_zones import Comparison
from dashboard.compaction_analysis.queries.passes import Pass
from dashboard.web import links
from recorder.models import ToolCall

MOST = 100  # that are listed
FATES = {"summary": "summarised", "drop": "dropped", "cut": "cut"}
_COLUMNS = (
    "pk",
    "tool_call_id",
    "tool_name",
    "arguments_key",
    "summary",
    "start_event",
    "turn_id",
    "turn__ordinal",
    "loop_id",
)


@dataclass(frozen=True, slots=True)
class Ran:
    """One call, and where it is shown; a tool may run outside of any turn."""

    loop: int
    turn: int | None
    url: str

    @property
    def place(self) -> str:
        return f"loop {self.loop}, turn {self.turn}" if self.turn else f"loop {self.loop}"


@dataclass(frozen=True, slots=True)
class Again:
    """A call that ran again; `fate` says what had become of its result, "" where that is not known."""

    tool: str
    summary: str
    fate: str
    first: Ran
    then: Ran


@dataclass(frozen=True, slots=True)
class Repeats:
    """All of them; `count` also of those that are not listed."""

    rows: Sequence[Again]
    count: int


def repeats(found: Pass, sent: Comparison | None) -> Repeats:
    """Return the calls that ran again; without a comparison, all that ran on both sides. One query."""
    calls = ToolCall.objects.filter(loop__in=found.line, start_event__isnull=False).exclude(arguments_key="")
    ran: dict[tuple[str, str], tuple[str, Ran]] = {}
    rows: list[Again] = []
    until = found.until or float("inf")
    for _, call, tool, key, summary, event, turn, ordinal, loop in calls.order_by("start_event").values_list(
        *_COLUMNS
    ):
        here = Ran(
            found.numbers[loop], None if ordinal is None else ordinal + 1, _place(found, loop, turn, ordinal)
        )
        if event < found.position:
            ran[tool, key] = call, here
        elif (tool, key) in ran and event < until:
            earlier, first = ran.pop((tool, key))  # from now on its result is in the context again
            fate = FATES.get(sent.lost.get(earlier, ""), "") if sent else ""
            if fate or sent is None:
                rows.append(Again(tool, summary, fate, first, here))
    return Repeats(rows[:MOST], len(rows))


def _place(found: Pass, loop: int, turn: int | None, ordinal: int | None) -> str:
    if turn is None or ordinal is None:
        return links.loop(found.slug, found.base.session_id, loop)
    return f"{links.loop(found.slug, found.base.session_id, loop, turn=ordinal + 1)}#session-turn-{turn}"

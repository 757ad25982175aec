"""Repeated calls after a compaction: same tool and arguments, the first result no longer in the context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.compaction_analysis.message_zones import Comparison
from dashboard.compaction_analysis.queries.passes import CompactionEffect
from dashboard.web import links
from recorder.models import ToolCall

MOST = 100  # maximum number of rows
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
class CallPlace:
    """Location of a call; `turn` is None for a tool that ran outside of any turn."""

    loop: int
    turn: int | None
    url: str

    @property
    def place(self) -> str:
        return f"loop {self.loop}, turn {self.turn}" if self.turn else f"loop {self.loop}"


@dataclass(frozen=True, slots=True)
class RepeatedCall:
    """A repeated call; `fate` is what the compaction did with the first result, "" if unknown."""

    tool: str
    summary: str
    fate: str
    first: CallPlace
    then: CallPlace


@dataclass(frozen=True, slots=True)
class Repeats:
    """The first repeated calls, and the number of all."""

    rows: Sequence[RepeatedCall]
    count: int


def repeats(effect: CompactionEffect, sent: Comparison | None) -> Repeats:
    """Return the repeated calls; without a comparison, all calls made on both sides. One query."""
    calls = ToolCall.objects.filter(loop__in=effect.line, start_event__isnull=False).exclude(arguments_key="")
    ran: dict[tuple[str, str], tuple[str, CallPlace]] = {}
    rows: list[RepeatedCall] = []
    until = effect.until or float("inf")
    for _, call, tool, key, summary, event, turn, ordinal, loop in calls.order_by("start_event").values_list(
        *_COLUMNS
    ):
        number = None if ordinal is None else ordinal + 1
        here = CallPlace(effect.numbers[loop], number, _place(effect, loop, turn, ordinal))
        if event < effect.position:
            ran[tool, key] = call, here
        elif (tool, key) in ran and event < until:
            earlier, first = ran.pop((tool, key))  # the result is in the context again from here on
            fate = FATES.get(sent.lost.get(earlier, ""), "") if sent else ""
            if fate or sent is None:
                rows.append(RepeatedCall(tool, summary, fate, first, here))
    return Repeats(rows[:MOST], len(rows))


def _place(effect: CompactionEffect, loop: int, turn: int | None, ordinal: int | None) -> str:
    if turn is None or ordinal is None:
        return links.loop(effect.slug, effect.base.session_id, loop)
    return f"{links.loop(effect.slug, effect.base.session_id, loop, turn=ordinal + 1)}#session-turn-{turn}"

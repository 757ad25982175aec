"""The tool calls of answers that nothing shows the execution of yet, to be found by the names of tools.

Cost: each call is passed over once.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence

from recorder.core.formats.otlp.plan.loops import LoopPlan, ToolUse, TurnPlan
from recorder.core.formats.otlp.spans.content.tools import plain_name


class OpenCalls:
    """The open calls of a loop, for the agents that run without a tool span."""

    def __init__(self, turns: Sequence[TurnPlan]) -> None:
        self._turns = turns
        self._starts = [turn.call.span.start for turn in turns]
        # By plain name: place of the turn, id and name of the call.
        self._calls: dict[str, list[tuple[int, str, str]]] = defaultdict(list)
        for place, turn in enumerate(turns):
            for call, name in turn.open_calls:
                self._calls[plain_name(name)].append((place, call, name))

    def start(self, child: LoopPlan) -> ToolUse | None:
        """Add the call of an agent to the last turn before it that asked for it; None if no answer did."""
        agent, calls = child.agent, self._calls.get(plain_name(child.name), [])
        before = bisect_right(self._starts, child.start)
        last = bisect_left(calls, before, key=_place) - 1
        if agent is None or last < 0:
            return None
        first = bisect_left(calls, _place(calls[last]), key=_place)
        place, call_id, name = calls.pop(first)
        use = ToolUse(call_id, name, notes=[agent], start=agent.start, end=agent.end)
        use.error, use.has_failed = agent.error, bool(agent.error)
        self._turns[place].tools.append(use)
        return use


def _place(call: tuple[int, str, str]) -> int:
    return call[0]

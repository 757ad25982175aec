"""The turns of a loop: its model calls in order of their start, with the tools that each one requested."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence

from recorder.core.formats.otlp.plan.calls import Call, unnamed_place
from recorder.core.formats.otlp.plan.loops import LoopPlan, ToolUse, TurnPlan
from recorder.core.formats.otlp.spans.digest import Digest


def make_turns(plan: LoopPlan, of_call: Mapping[str, list[Digest]]) -> None:
    """Make the turns of a loop, and give each tool span its turn.

    `of_call` has the log records of each tool call.
    """
    plan.calls.sort(key=lambda call: (call.span.start, call.span.end, call.span.id))
    for call in plan.calls:
        last = plan.turns[-1] if plan.turns else None
        if last is not None and _is_retry(last, call):
            last.attempts.append(last.call)
            last.call = call
        else:
            plan.turns.append(TurnPlan(call))
    in_order = sorted(plan.spans, key=lambda span: (span.start, span.end, span.id))
    turns = _Turns(plan.turns)
    for span in sorted(in_order, key=lambda span: not span.call):  # those without an id get what is left
        _place(plan, turns.of(span), span)
    plan.early.sort(key=lambda tool: (tool.start, tool.end, tool.span.id if tool.span is not None else ""))
    _add_results(plan)
    for tool in plan.tools:
        own = tool.span.call if tool.span is not None else ""
        tool.notes = of_call.get(own or tool.call, [])
        tool.has_failed |= any(note.error for note in tool.notes)
    for turn in plan.turns:
        turn.tools.sort(key=lambda tool: (tool.end, tool.start, tool.call))


def _is_retry(last: TurnPlan, call: Call) -> bool:
    """Return whether a call repeats one that failed: with the same parent and the same new messages."""
    failed = last.call.span
    return (
        bool(failed.error)
        and failed.turn == call.span.turn
        and failed.parent == call.span.parent
        and last.call.new == call.new
        and not last.tools
    )


def _place(plan: LoopPlan, turn: TurnPlan | None, span: Digest) -> None:
    """Add a tool to the turn whose answer requested it."""
    use = ToolUse(
        span.call,
        span.name,
        span,
        has_failed=bool(span.error),
        error=span.error,
        start=span.start,
        end=span.end,
    )
    if turn is None:
        use.call = use.call or f"span-{span.id}"
        plan.early.append(use)
        return
    waiting = turn.open_calls
    if use.call not in [call for call, _ in turn.call.calls]:  # the answer names no ids
        waiting = [call for call in waiting if not use.call or unnamed_place(call[0]) is not None]
        same = [call for call in waiting if _plain(call[1]) == _plain(span.name)] or (
            waiting if _is_handoff(span) else []
        )
        if same:
            use.call, use.name = same[0][0], same[0][1] or span.name
    use.call = use.call or f"span-{span.id}"
    turn.tools.append(use)


class _Turns:
    """The turns of a loop by what tells that a tool belongs to them; of several the last one."""

    def __init__(self, turns: Sequence[TurnPlan]) -> None:
        self._turns = turns
        self._requested = {call_id: turn for turn in turns for call_id, _ in turn.call.calls}
        self._by_span = {turn.call.span.id: turn for turn in turns}
        self._starts = [turn.call.span.start for turn in turns]  # in order, as the calls are

    def of(self, span: Digest) -> TurnPlan | None:
        """Return the turn of a tool: that which asked for it, or which it is in, else the last one before."""
        turn = self._requested.get(span.call) if span.call else None
        turn = turn or self._by_span.get(span.parent)  # a stream that is still read
        # Codex's span of a call begins when the answer does, after the tools that it streams.
        before = bisect_right(self._starts, span.end if span.runtime == "codex" else span.start)
        return turn or (self._turns[before - 1] if before else None)


def _plain(name: str) -> str:
    """Return the name of a tool as a model may call it: crewAI's names have spaces."""
    return re.sub(r"\W+", "_", name.lower())


def _is_handoff(span: Digest) -> bool:
    return span.name.lower().startswith("handoff")


def add_agent_call(plan: LoopPlan, child: LoopPlan) -> ToolUse | None:
    """Add the call of an agent that runs without a tool span; None if no answer asked for it."""
    if child.agent is None:
        return None
    before = [turn for turn in plan.turns if turn.call.span.start <= child.start]
    for turn in reversed(before):
        for call_id, name in turn.open_calls:
            if _plain(name) == _plain(child.name):
                use = ToolUse(
                    call_id, name, notes=[child.agent], start=child.agent.start, end=child.agent.end
                )
                use.error, use.has_failed = child.agent.error, bool(child.agent.error)
                turn.tools.append(use)
                return use
    return None


def _add_results(plan: LoopPlan) -> None:
    """Add the tools without a span: the answer has the call, and the next model call was sent the result."""
    for turn, following in zip(plan.turns, plan.turns[1:], strict=False):
        results = {str(call_id): bool(failed) for call_id, failed in following.call.results}
        unnamed = [call_id for call_id, _ in turn.call.calls if unnamed_place(call_id) is not None]
        failures = [bool(failed) for call_id, failed in following.call.results if not call_id]
        results.update(zip(unnamed, failures, strict=False))
        for call_id, name in turn.open_calls:
            if call_id in results:
                at = following.call.span.start
                turn.tools.append(
                    ToolUse(
                        call_id, name, source=following.call, has_failed=results[call_id], start=at, end=at
                    )
                )
        for tool in turn.tools:
            tool.has_failed |= results.get(tool.call, False)

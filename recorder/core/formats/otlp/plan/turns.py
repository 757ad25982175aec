"""The turns of a loop: its model calls in order of their start, with the tools that each one requested."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence

from recorder.core.formats.otlp.plan.calls import Call, unnamed_place
from recorder.core.formats.otlp.plan.loops import LoopPlan, ToolUse, TurnPlan
from recorder.core.formats.otlp.plan.tool_calls.pairing import AskedCalls
from recorder.core.formats.otlp.spans.digest import BY_WORDS, Digest


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
    _place_tools(plan)
    plan.early.sort(key=lambda tool: (tool.start, tool.end, tool.span.id if tool.span is not None else ""))
    for turn in plan.turns:
        _add_hosted(turn)
    _add_results(plan)
    _add_notes(plan, of_call)
    for turn in plan.turns:
        # Calls that the provider ran stay in the order of the answer.
        turn.tools.sort(key=lambda tool: (tool.end, tool.start, "" if tool.is_hosted else tool.call))


def _add_notes(plan: LoopPlan, of_call: Mapping[str, list[Digest]]) -> None:
    """Give each tool its log records; of several with one id those until the next one begins."""
    by_id: dict[str, list[ToolUse]] = defaultdict(list)
    for tool in sorted(plan.tools, key=lambda tool: tool.start):
        by_id[(tool.span.call if tool.span is not None else "") or tool.call].append(tool)
    for call_id, tools in by_id.items():
        for note in of_call.get(call_id, ()):
            before = bisect_right(tools, note.start - note.lasted, key=lambda tool: tool.start)
            tools[max(0, before - 1)].notes.append(note)
        for tool in tools:
            tool.has_failed |= any(note.error for note in tool.notes)


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


def _place_tools(plan: LoopPlan) -> None:
    """Add each tool to the turn whose answer asked for it, first those that are surely of a call."""
    turns, asked = _Turns(plan.turns), {id(turn): AskedCalls(turn.call) for turn in plan.turns}
    left: list[tuple[AskedCalls, ToolUse, Digest]] = []
    for span in sorted(plan.spans, key=lambda span: (span.start, span.end, span.id)):
        turn, use = turns.of(span), _use_of(span)
        (plan.early if turn is None else turn.tools).append(use)
        if turn is not None and not (span.call and asked[id(turn)].take_id(span.call)):
            left.append((asked[id(turn)], use, span))
    for take in (AskedCalls.take_equal, AskedCalls.take_named):
        unpaired = []
        for calls, use, span in left:
            if (found := take(calls, span)) is not None:
                use.call, use.name = found[0], found[1] or span.name
            else:
                unpaired.append((calls, use, span))
        left = unpaired
    for use in plan.tools:
        use.call = use.call or f"span-{use.span.id if use.span is not None else ''}"


def _use_of(span: Digest) -> ToolUse:
    use = ToolUse(span.call, span.name, span, has_failed=bool(span.error), error=span.error)
    use.start, use.end = span.start, span.end
    return use


class _Turns:
    """The turns of a loop by what tells that a tool belongs to them; of several the last one before it."""

    def __init__(self, turns: Sequence[TurnPlan]) -> None:
        self._turns = turns
        # Places of the turns whose answer has a call, by its id: some models give each first call one id.
        self._requested: dict[str, list[int]] = defaultdict(list)
        for place, turn in enumerate(turns):
            for call_id, _ in turn.call.calls:
                self._requested[call_id].append(place)
        self._by_span = {turn.call.span.id: turn for turn in turns}
        self._starts = [turn.call.span.start for turn in turns]  # in order, as the calls are

    def of(self, span: Digest) -> TurnPlan | None:
        """Return the turn of a tool: that which asked for it, or which it is in, else the last one before."""
        # Codex's span of a call begins when the answer does, after the tools that it streams.
        before = bisect_right(self._starts, span.end if span.runtime == "codex" else span.start)
        if requested := self._requested.get(span.call) if span.call else None:
            return self._turns[requested[max(0, bisect_left(requested, before) - 1)]]
        turn = self._by_span.get(span.parent)  # a stream that is still read
        return turn or (self._turns[before - 1] if before else None)


def _add_hosted(turn: TurnPlan) -> None:
    """Add the tools that the provider ran, of which no span is known: the answer has call and result."""
    known = {tool.call for tool in turn.tools}
    at = turn.call.span.end
    for call_id, name, failed in turn.call.hosted:
        if call_id not in known:
            use = ToolUse(
                call_id, name, source=turn.call, is_hosted=True, has_failed=failed, start=at, end=at
            )
            turn.tools.append(use)


def _add_results(plan: LoopPlan) -> None:
    """Add the tools without a span: the answer has the call, and the next model call was sent the result."""
    for turn, following in zip(plan.turns, plan.turns[1:], strict=False):
        results = {str(call_id): failed for call_id, failed in following.call.results}
        unnamed = [call_id for call_id, _ in turn.call.calls if unnamed_place(call_id) is not None]
        failures = [failed for call_id, failed in following.call.results if not call_id]
        results.update(zip(unnamed, failures, strict=False))
        for call_id, name in turn.open_calls:
            if call_id in results:
                at, failed = following.call.span.start, bool(results[call_id])
                turn.tools.append(
                    ToolUse(call_id, name, source=following.call, has_failed=failed, start=at, end=at)
                )
        for tool in turn.tools:
            is_ok = tool.span is not None and tool.span.is_ok
            stated = results.get(tool.call)
            tool.has_failed |= bool(stated) and not (is_ok and stated == BY_WORDS)

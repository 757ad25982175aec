"""The turns of a loop: its model calls in order of their start, with the tools that each one requested."""

from __future__ import annotations

from collections.abc import Sequence

from recorder.core.formats.otlp.plan.calls import Call, unnamed_place
from recorder.core.formats.otlp.plan.loops import LoopPlan, ToolUse, TurnPlan
from recorder.core.formats.otlp.spans.digest import Digest


def make_turns(plan: LoopPlan, notes: Sequence[Digest]) -> None:
    """Make the turns of a loop, and give each tool span its turn."""
    plan.calls.sort(key=lambda call: (call.span.start, call.span.end, call.span.id))
    for call in plan.calls:
        last = plan.turns[-1] if plan.turns else None
        if last is not None and _is_retry(last, call):
            last.attempts.append(last.call)
            last.call = call
        else:
            plan.turns.append(TurnPlan(call))
    for span in sorted(plan.spans, key=lambda span: (span.start, span.end, span.id)):
        _place(plan, span)
    _add_results(plan)
    of_call: dict[str, list[Digest]] = {}
    for note in notes:
        if note.call:
            of_call.setdefault(note.call, []).append(note)
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


def _place(plan: LoopPlan, span: Digest) -> None:
    """Add a tool to the turn whose answer requested for it."""
    use = ToolUse(
        span.call,
        span.name,
        span,
        has_failed=bool(span.error),
        error=span.error,
        start=span.start,
        end=span.end,
    )
    turn = _turn_of(plan, span)
    if turn is None:
        use.call = use.call or f"span-{span.id}"
        plan.early.append(use)
        return
    waiting = turn.open_calls
    if use.call not in [call for call, _ in turn.call.calls]:  # the answer names no ids
        waiting = [call for call in waiting if not use.call or unnamed_place(call[0]) is not None]
        same = [call for call in waiting if call[1] == span.name] or (waiting if _is_handoff(span) else [])
        if same:
            use.call, use.name = same[0][0], same[0][1] or span.name
    use.call = use.call or f"span-{span.id}"
    turn.tools.append(use)


def _turn_of(plan: LoopPlan, span: Digest) -> TurnPlan | None:
    requested = [
        turn for turn in plan.turns if span.call and any(call[0] == span.call for call in turn.call.calls)
    ]
    if requested:
        return requested[-1]
    within = [turn for turn in plan.turns if turn.call.span.id == span.parent]  # a stream that is still read
    if within:
        return within[-1]
    # Codex's span of a call begins when the answer does, after the tools that it streams.
    begun_at = span.end if span.runtime == "codex" else span.start
    before = [turn for turn in plan.turns if turn.call.span.start <= begun_at]
    return before[-1] if before else None


def _is_handoff(span: Digest) -> bool:
    return span.name.lower().startswith("handoff")


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

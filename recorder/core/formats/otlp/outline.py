"""The events of a loop without their content: what each one is, and which lines its content is from.

An entry's signature has everything that decides its event, so two outlines that begin with the same
signatures begin with the same events.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from recorder.core.formats.otlp.plan.calls import Call
from recorder.core.formats.otlp.plan.loops import LoopPlan, ToolUse, TurnPlan
from recorder.core.formats.otlp.spans import usage
from recorder.core.formats.otlp.spans.digest import Digest

Step = Literal["start", "turn", "attempt", "prompt", "answer", "tool_start", "tool_end", "turn_end", "end"]
_PROVIDERS = {"claude-code": "anthropic", "codex": "openai", "gemini-cli": "google"}  # where they name none
# How a loop ended, as our own export says.
OUTCOMES = frozenset(("completed", "failed", "cancelled", "rejected", "limit", "aborted"))
LIMITS = ("max turns", "max_turns", "maxturns", "recursion limit", "max iterations", "max steps")


@dataclass(frozen=True, slots=True)
class Entry:
    """One event to come: `facts` are its fields, `sources` the lines that may hold its content."""

    step: Step
    at: int  # nanoseconds since 1970
    facts: tuple[object, ...] = ()
    sources: tuple[Digest, ...] = ()

    @property
    def signature(self) -> tuple[object, ...]:
        return (self.step, self.at, self.facts, tuple(source.print for source in self.sources))


def outline(plan: LoopPlan, session: str, notes: list[Digest], *, is_silent: bool) -> Iterator[Entry]:
    """Yield the events of a loop in order; `is_silent`: nothing more is expected, so an open loop ends."""
    first = plan.turns[0].call.span if plan.turns else None
    about = tuple(each for each in (plan.agent, first) if each is not None)
    runtime = next((each.runtime for each in [*about, *plan.all_spans()]), "otlp")
    service = next((each.service for each in [*about, *plan.all_spans()] if each.service), "")
    above = plan.parent.key if plan.parent is not None else ""
    call = plan.turns[0].call if plan.turns else None
    model = ("", "") if call is None else (_model(plan, call, notes), _provider(call))
    facts = (plan.trace, session, plan.name or service or runtime, runtime, service, above, *model)
    yield Entry("start", plan.start, facts, about)
    for tool in plan.early:
        yield from _tool(tool)
    has_ended = plan.agent is not None or is_silent or _is_answered(plan) or _has_returned(plan)
    for index, turn in enumerate(plan.turns):
        is_last = index == len(plan.turns) - 1
        before = plan.turns[index - 1] if index else None
        yield from _turn(plan, index, turn, before, notes)
        if not is_last or has_ended or not turn.open_calls:
            yield _turn_end(plan, turn, notes)
    if has_ended:
        yield _end(plan, is_silent=is_silent)


def _turn(
    plan: LoopPlan, index: int, turn: TurnPlan, before: TurnPlan | None, notes: list[Digest]
) -> Iterator[Entry]:
    first = turn.attempts[0] if turn.attempts else turn.call
    trigger = "Continuation" if index else "SubAgent" if plan.parent is not None else "User"
    yield Entry("turn", first.span.start, (index, trigger))
    for attempt in turn.attempts:
        yield Entry("attempt", attempt.span.end, (attempt.span.error,))
    sources = _texts(turn.call)
    if turn.call.new and (before is None or before.call.new != turn.call.new):
        yield Entry("prompt", first.span.start, (), sources)
    elif index == 0 and (prompts := _prompts(plan, notes)):
        yield Entry("prompt", prompts[0].start, (), prompts)
    call = turn.call
    answer = (_model(plan, call, notes), _provider(call), call.first("finish"), call.span.error)
    yield Entry("answer", call.span.end, answer, sources)
    for tool in turn.tools:
        yield from _tool(tool)


def _texts(call: Call) -> tuple[Digest, ...]:
    """Return the lines that may hold the messages of a call."""
    return tuple(each for each in call.sources if each.has_text or each.name == "assistant_response")


def _prompts(plan: LoopPlan, notes: list[Digest]) -> tuple[Digest, ...]:
    """Return the lines with the prompt of a loop whose model calls carry no messages."""
    if plan.parent is not None:
        return ()
    named = [note for note in notes if note.name.endswith("user_prompt")]
    trace = plan.agent.trace if plan.agent is not None else plan.trace
    own = [note for note in named if note.trace == trace] or [note for note in named if not note.trace]
    return tuple(own[:1]) or ((plan.agent,) if plan.agent is not None else ())


def _tool(tool: ToolUse) -> Iterator[Entry]:
    sources = tuple(
        each
        for each in (tool.span, *(tool.source.sources if tool.source else ()), *tool.notes)
        if each is not None
    )
    yield Entry("tool_start", tool.start, (tool.call, tool.name), sources)
    if tool.span is not None and tool.span.outcome == "cut":  # the loop ended before the tool
        return
    yield Entry("tool_end", tool.end, (tool.call, tool.name, tool.has_failed, tool.error), sources)


def _turn_end(plan: LoopPlan, turn: TurnPlan, notes: list[Digest]) -> Entry:
    call = turn.call
    figures = tuple(sorted(usage.native(call.usage).items()))
    ends = max([call.span.end, *(tool.end for tool in turn.tools)])
    facts = (
        _model(plan, call, notes),
        call.first("provider"),
        call.first("finish"),
        call.span.error,
        figures,
        call.cost_nano,
    )
    return Entry("turn_end", ends, facts, _texts(call))


def _model(plan: LoopPlan, call: Call, notes: list[Digest]) -> str:
    """Return the model of a call; Codex names it in its agent span and its log records alone."""
    model = call.first("model") or (plan.agent.model if plan.agent is not None else "")
    of_runtime = (note.model for note in notes if note.model and note.runtime == call.span.runtime)
    return model or next(of_runtime, "")


def _provider(call: Call) -> str:
    return call.first("provider") or _PROVIDERS.get(call.span.runtime, "")


def _is_answered(plan: LoopPlan) -> bool:
    """Return whether the last answer of a bare loop asked for no tool: then nothing more comes of it."""
    if plan.turns and plan.turns[-1].call.span.is_log:
        return False  # log records do not say which tools an answer asked for
    return plan.is_bare and bool(plan.turns) and not plan.turns[-1].open_calls and not plan.turns[-1].tools


def _has_returned(plan: LoopPlan) -> bool:
    """Return whether the tool call that started a sub-agent without a span of its own has ended."""
    return plan.agent is None and plan.via is not None and plan.via.span is not None


def _end(plan: LoopPlan, *, is_silent: bool) -> Entry:
    last = plan.turns[-1].call.span if plan.turns else None
    error = plan.agent.error if plan.agent is not None else ""
    if not error and last is not None:
        error = last.error
    ends = [turn.call.span.end for turn in plan.turns] + [tool.end for tool in plan.tools]
    at = plan.agent.end if plan.agent is not None else max(ends, default=plan.start)
    totals: dict[str, int] = {}
    for turn in plan.turns:
        for name, count in usage.native(turn.call.usage).items():
            totals[name] = totals.get(name, 0) + int(str(count))
    outcome = "failed" if error else "completed"
    if plan.agent is not None and plan.agent.outcome in OUTCOMES:
        outcome = plan.agent.outcome
    elif any(word in error.lower() for word in LIMITS):
        outcome = "limit"
    elif plan.agent is None and is_silent and not _is_answered(plan) and not _has_returned(plan):
        outcome, error = "aborted", "No more spans arrived."
    sources = _texts(plan.turns[-1].call) if plan.turns else ()
    return Entry("end", at, (outcome, error, tuple(sorted(totals.items()))), sources)

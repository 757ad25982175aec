"""The events of a loop without their content: what each one is, and which lines its content is from.

An entry's signature has everything that decides its event, so two outlines that begin with the same
signatures begin with the same events.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import inf
from typing import Literal

from recorder.core.formats.otlp.plan.calls import Call
from recorder.core.formats.otlp.plan.loops import LoopPlan, ToolUse, TurnPlan
from recorder.core.formats.otlp.spans.digest import Digest
from recorder.core.formats.otlp.spans.names import DETAILS
from recorder.core.formats.otlp.spans.usage import tokens

Step = Literal[
    "start",
    "turn",
    "attempt",
    "prompt",
    "request",
    "answer",
    "compaction",
    "approval",
    "tool_start",
    "tool_end",
    "turn_end",
    "notice",
    "guardrail",
    "end",
]
_PROVIDERS = {"claude-code": "anthropic", "codex": "openai", "gemini-cli": "google"}  # where they name none
SOURCES_MAX = 20  # lines with the answer that asked for a tool call, or with its result, that are read
_ASKS = re.compile(r"tool|function")  # in the reason why an answer ended
# How a loop ended, as our own export says.
OUTCOMES = frozenset(("completed", "failed", "cancelled", "rejected", "limit", "aborted"))
LIMITS = re.compile(
    r"\bmax\w*[ _]?(?:number of )?(?:turns|iterations|steps|(?:llm )?calls)"
    r"|recursion limit|usage ?limit ?exceeded|\brequest_limit\b|_tokens_limit\b",
    re.IGNORECASE,
)

# Errors of a run that its program cancelled: of asyncio, JavaScript, Go.
CANCELLED = re.compile(
    r"(?:asyncio\.(?:exceptions\.)?)?CancelledError\b.*|AbortError\b.*|KeyboardInterrupt\b.*"
    r"|(?:context |(?:the |this )?(?:operation|request|run|task) (?:was )?)?(?:cancell?ed|aborted)\.?"
    r"|the user aborted a request\.|rpc error: code = cancell?ed\b.*",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One event to come: `facts` are its fields, `sources` the lines that may hold its content."""

    step: Step
    at: int  # nanoseconds since 1970
    facts: tuple[object, ...] = ()
    sources: tuple[Digest, ...] = ()
    requested_by: tuple[Digest, ...] = ()  # of a tool: the lines with the answer that has its call

    @property
    def signature(self) -> tuple[object, ...]:
        requested_by = tuple(line.print for line in self.requested_by)
        return (self.step, self.at, self.facts, tuple(source.print for source in self.sources), requested_by)


class Notes:
    """What log records say of whole loops: prompts and models. Of several the first one counts."""

    def __init__(self, notes: Iterable[Digest]) -> None:
        self.models: dict[str, str] = {}  # by runtime
        self._of_trace: dict[str, Digest] = {}
        self._named: dict[str, Digest] = {}  # prompts by their id, and by their start
        for note in sorted(notes, key=lambda note: (note.start, note.name, note.print)):
            if note.model:
                self.models.setdefault(note.runtime, note.model)
            if note.name.endswith("user_prompt"):
                self._of_trace.setdefault(note.trace, note)
                self._named.setdefault(note.prompt, note)
                self._named.setdefault(str(note.start), note)

    def prompt(self, trace: str, first: Digest | None) -> Digest | None:
        """Return the prompt of a loop, whose first model call may be a log record, too."""
        named = self._named.get(first.prompt) if first is not None and first.is_log else None
        return named or self._of_trace.get(trace) or self._of_trace.get("")


def outline(plan: LoopPlan, session: str, notes: Notes, *, is_silent: bool) -> Iterator[Entry]:
    """Yield the events of a loop in order; `is_silent`: nothing more is expected, so an open loop ends."""
    first = plan.turns[0].call.span if plan.turns else None
    about = tuple(each for each in (plan.agent, first) if each is not None)
    runtime = runtime_of(plan)
    service = next((each.service for each in [*about, *plan.all_spans()] if each.service), "")
    above = plan.parent.key if plan.parent is not None else ""
    call = plan.turns[0].call if plan.turns else None
    model = ("", "") if call is None else (_model(plan, call, notes), _provider(call))
    facts = (plan.trace, session, plan.name or service or runtime, runtime, service, above, *model)
    yield Entry("start", plan.start, facts, about)
    for tool in plan.early:
        yield from _tool(tool)
    has_ended = (
        plan.agent is not None or is_silent or plan.is_closed or _is_answered(plan) or _has_returned(plan)
    )
    without_cache = (turn for turn in plan.turns if tokens.WITHOUT_CACHE in (turn.call.usage or {}))
    flagged = next(without_cache, None)
    beside = deque(
        sorted((*plan.compactions, *plan.guardrails), key=lambda span: (span.end, span.start, span.id))
    )
    for index, turn in enumerate(plan.turns):
        yield from _beside_turns(beside, (*turn.attempts, turn.call)[0].span.start)
        is_last = index == len(plan.turns) - 1
        before = plan.turns[index - 1] if index else None
        yield from _turn(plan, index, turn, before, notes)
        if turn is flagged:  # before its tools, which may still come
            yield Entry("notice", turn.call.span.end)
        yield from _tools(turn)
        if not is_last or has_ended or not turn.open_calls:
            yield _turn_end(plan, turn, notes)
    yield from _beside_turns(beside)
    if has_ended:
        yield _end(plan)


def _beside_turns(spans: deque[Digest], until: float = inf) -> Iterator[Entry]:
    """Take and yield those with spans of their own, compactions and guardrails, that ended until a time.

    A compaction that was cut has only a start.
    """
    while spans and spans[0].end <= until:
        span = spans.popleft()
        if span.compacted:
            yield Entry("compaction", span.end, (span.start, span.outcome), (span,))
        else:
            yield Entry("guardrail", span.end, (span.name, span.error))


def runtime_of(plan: LoopPlan) -> str:
    """Return the runtime of a loop: that of its agent, else of its first model call."""
    first = plan.turns[0].call.span if plan.turns else None
    return next((each.runtime for each in (plan.agent, first, *plan.spans[:1]) if each is not None), "otlp")


def _turn(
    plan: LoopPlan, index: int, turn: TurnPlan, before: TurnPlan | None, notes: Notes
) -> Iterator[Entry]:
    first = turn.attempts[0] if turn.attempts else turn.call
    failed = _failed_requests(turn.call)
    trigger = "Continuation" if index else "SubAgent" if plan.parent is not None else "User"
    yield Entry("turn", first.span.start, (index, trigger))
    for attempt in turn.attempts:
        yield Entry("attempt", attempt.span.end, (attempt.span.error,))
    for at, error in failed:
        yield Entry("attempt", at, (error,))
    call, sources = turn.call, _texts(turn.call)
    repeats_all = call.span.is_log and call.span.name != DETAILS  # as log records of coding agents do
    is_new_prompt = bool(turn.call.new) and not repeats_all
    if is_new_prompt and (before is None or before.call.new != turn.call.new):
        yield Entry("prompt", first.span.start, (), sources)
    elif index == 0 and (prompts := _prompts(plan, notes)):
        yield Entry("prompt", prompts[0].start, (), prompts)
    if (requests := _requests(call)) and (before is None or requests != _requests(before.call)):
        with_request = tuple(each for each in call.sources if each.request)
        yield Entry("request", first.span.start, (index, _model(plan, call, notes)), with_request)
    answer = (_model(plan, call, notes), _provider(call), call.first("finish"), call.span.error)
    yield Entry("answer", call.span.end, answer, sources)
    if any(each.compacted for each in call.sources) and not plan.compactions:
        yield Entry("compaction", call.span.end)


def _tools(turn: TurnPlan) -> Iterator[Entry]:
    requested_by = tuple(each for each in _texts(turn.call) if each.calls)[:SOURCES_MAX]
    for tool in turn.tools:
        yield from _tool(tool, requested_by)


def _failed_requests(call: Call) -> list[tuple[int, str]]:
    """Return times and errors of the requests that failed before a call was answered."""
    known = [(each.end, each.error) for each in call.failures]
    if call.span.error and not call.span.is_log:
        known = known[:-1]  # the last one is the call itself
    unknown = call.span.tries - 1 - len(known)
    return [*((call.span.start, f"Request {n + 1} failed.") for n in range(min(unknown, 100))), *known]


def _requests(call: Call) -> list[str]:
    """Return the fingerprints of what a call sent beside its messages."""
    return [each.request for each in call.sources if each.request]


def _texts(call: Call) -> tuple[Digest, ...]:
    """Return the lines that may hold the messages of a call."""
    found = tuple(each for each in call.sources if each.has_text or each.name == "assistant_response")
    return (*found, call.text) if call.text is not None else found


def _prompts(plan: LoopPlan, notes: Notes) -> tuple[Digest, ...]:
    """Return the lines with the prompt of a loop whose model calls carry no messages."""
    if plan.parent is not None:
        return ()
    trace = plan.agent.trace if plan.agent is not None else plan.trace
    prompt = notes.prompt(trace, plan.turns[0].call.span if plan.turns else None) or plan.agent
    return (prompt,) if prompt is not None else ()


def _tool(tool: ToolUse, requested_by: tuple[Digest, ...] = ()) -> Iterator[Entry]:
    lines = tool.source.sources if tool.source else []
    sent = [each for each in lines if each.results or each.hosted][:SOURCES_MAX]
    sources = tuple(each for each in (tool.span, *sent, *tool.notes) if each is not None)
    if (decided := tool.decided) is not None:
        requested_at = tool.wait.start if tool.wait is not None else decided.start
        decided_at = tool.wait.end if tool.wait is not None else decided.end
        yield Entry("approval", requested_at, (tool.call, tool.name, decided_at, *decided.decision), sources)
    if tool.was_refused:  # it did not run, which is no failure of the tool
        yield Entry("tool_end", tool.end, (tool.call, tool.name, False, tool.error), sources)
        return
    yield Entry("tool_start", tool.start, (tool.call, tool.name), sources, requested_by)
    if tool.span is not None and tool.span.outcome == "cut":  # the loop ended before the tool
        return
    yield Entry("tool_end", tool.end, (tool.call, tool.name, tool.has_failed, tool.error), sources)


def _turn_end(plan: LoopPlan, turn: TurnPlan, notes: Notes) -> Entry:
    call = turn.call
    figures = tuple(sorted(tokens.native(call.usage).items()))
    ends = max([call.span.end, *(tool.end for tool in turn.tools)])
    facts = (
        _model(plan, call, notes),
        _provider(call),
        call.first("finish"),
        call.span.error,
        figures,
        call.cost_nano,
        *(() if call.usage is not None else (False,)),
    )
    return Entry("turn_end", ends, facts, _texts(call))


def _model(plan: LoopPlan, call: Call, notes: Notes) -> str:
    """Return the model of a call; Codex names it in its agent span and its log records alone."""
    model = call.first("model") or (plan.agent.model if plan.agent is not None else "")
    return model or notes.models.get(call.span.runtime, "")


def _provider(call: Call) -> str:
    return call.first("provider") or _PROVIDERS.get(call.span.runtime, "")


def _is_answered(plan: LoopPlan) -> bool:
    """Return whether a loop without an agent span ends with an answer that asked for no tool.

    Nothing more comes of it as far as is known: its parent may be the span of a web server, which goes
    elsewhere. A call below another span must have said something, as its content may be switched off.
    """
    if plan.agent is not None or not plan.turns or plan.turns[-1].call.span.is_log:
        return False  # log records do not say which tools an answer asked for
    last = plan.turns[-1]
    if last.open_calls or not all(tool.is_hosted for tool in last.tools):
        return False
    finish = last.call.first("finish").lower()
    has_answer = bool(last.call.first("answer") or finish) and not last.call.span.error
    return plan.is_bare or (has_answer and not _ASKS.search(finish))


def _is_complete(plan: LoopPlan) -> bool:
    """Return whether a loop without an agent span ends with an answer, or its tool call has ended."""
    is_reported = bool(plan.turns) and plan.turns[-1].call.span.is_log and not plan.turns[-1].tools
    return is_reported or _is_answered(plan) or _has_returned(plan)


def _has_returned(plan: LoopPlan) -> bool:
    """Return whether the tool call that started a sub-agent without a span of its own has ended."""
    return plan.agent is None and plan.via is not None and plan.via.span is not None


def _end(plan: LoopPlan) -> Entry:
    last = plan.turns[-1].call.span if plan.turns else None
    error = plan.agent.error if plan.agent is not None else ""
    if not error and last is not None:
        error = last.error
    ends = [turn.call.span.end for turn in plan.turns] + [tool.end for tool in plan.tools]
    at = plan.agent.end if plan.agent is not None else max(ends, default=plan.start)
    totals: dict[str, int] = {}
    for turn in plan.turns:
        for name, count in tokens.native(turn.call.usage).items():
            totals[name] = totals.get(name, 0) + int(str(count))
    outcome = "failed" if error else "completed"
    if plan.agent is not None and plan.agent.outcome in OUTCOMES:
        outcome = plan.agent.outcome
    elif LIMITS.search(error):
        outcome = "limit"
    elif CANCELLED.fullmatch(error):
        outcome = "cancelled"
    elif plan.guardrails and (error or last is None):
        blocked = max(plan.guardrails, key=lambda span: (span.end, span.id))
        if last is None or blocked.end >= last.start:
            outcome, error = "rejected", blocked.error
    elif plan.agent is None and not (error or plan.is_closed or _is_complete(plan)):
        outcome, error = "aborted", "No more spans arrived."
    sources = _texts(plan.turns[-1].call) if plan.turns else ()
    return Entry("end", at, (outcome, error, tuple(sorted(totals.items()))), sources)

"""Bare loops: model calls and tools without an agent span, whose traces are read together by what they share.

A loop is continued by another one that has the same prompt's id, or that was sent the result of a call which
the loop asked for. Clients and local models number their calls from 0 in each run, so an id alone says
nothing: the result must follow the call within `WAIT_NS`, and a call is answered once. The sessions must be
the same; without any the services and users must be, and the second loop must repeat the first message and
the call with its arguments. Loops with different users are never joined. Of several open calls the latest
one is meant.

Cost: linear in the number of loops and calls. Of the open calls of one name the last `OPEN_MAX` are known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf

from recorder.core.formats.otlp.plan.calls import Call, are_apart
from recorder.core.formats.otlp.plan.loops import LoopPlan
from recorder.core.formats.otlp.spans.digest import Digest

WAIT_NS = 3_600_000_000_000  # from an answer to the model call that is sent the results of its tools

OPEN_MAX = 50


@dataclass(slots=True, eq=False)
class _Request:
    """A tool call that an answer asked for, and when model calls that were sent its result were answered."""

    loop: LoopPlan
    span: Digest
    is_answered: bool = False  # also by a call that failed
    answered_at: float = inf

    def add(self, answer: Digest) -> None:
        """Add a model call that was sent the result."""
        self.is_answered = True
        if not answer.error:
            self.answered_at = min(self.answered_at, answer.end)

    def is_over(self, at: int) -> bool:
        """Return whether nothing that begins from now on belongs to it: it was answered, or left alone.

        A failed call is sent again, and several answers may be sampled at once.
        """
        return self.span.end + WAIT_NS < at or self.answered_at <= at


_Requests = defaultdict[str, list[_Request]]  # by the name of the call, as of `requested` and `answered`


def call_name(call_id: str) -> str:
    """Return the id of a tool call without the tool's name, which Gemini CLI writes before it."""
    return call_id.rsplit("__", 1)[-1]


def requested(line: Digest) -> Iterator[str]:
    """Yield the names of the tool calls of an answer: what a loop that is sent their results has equal.

    A log record with one message repeats no history: it has names within a session only.
    """
    for (call, _), ask in zip(line.calls, line.asks or [""] * len(line.calls), strict=False):
        if call and (scope := _scope(line)):
            yield f"{scope} {call_name(call)}"
        elif call and line.opening:
            yield f"{_without_session(line)} {call_name(call)} {ask}"


def answered(line: Digest) -> Iterator[str]:
    """Yield the names of the tool calls whose results a model call was sent, as `requested` does."""
    for (call, _), ask in zip(line.results, line.answers or [""] * len(line.results), strict=False):
        if call and (scope := _scope(line)):
            yield f"{scope} {call_name(str(call))}"
        elif call and ask and line.opening:
            yield f"{_without_session(line)} {call_name(str(call))} {ask}"


def join_bare(plans: dict[str, LoopPlan]) -> None:
    """Join the bare ones of some loops, which are given by key, to those that they continue."""
    by_prompt: dict[str, LoopPlan] = {}
    requests: _Requests = defaultdict(list)
    last: dict[str, Call] = {}  # by key of a loop: the call that began last
    bare = [plan for plan in plans.values() if plan.is_bare]
    for plan in sorted(bare, key=lambda plan: (_start(plan), plan.key)):
        prompts = list(_prompts(plan))
        open_calls = list(_open_calls(plan))
        continued = _continued(plan, requests)
        same = (by_prompt[name] for name in prompts if name in by_prompt)
        into = next((loop for loop in same if not _is_next(plan, last.get(loop.key))), continued) or plan
        calls = [*plan.calls, *([last[into.key]] if into.key in last else [])]
        if calls:
            last[into.key] = max(calls, key=lambda call: (call.span.start, call.span.id))
        if into is not plan:
            into.calls += plan.calls
            into.spans += plan.spans
            del plans[plan.key]
        by_prompt.update(dict.fromkeys(prompts, into))
        for span, name in open_calls:
            requests[name].append(_Request(into, span))


def _continued(plan: LoopPlan, requests: _Requests) -> LoopPlan | None:
    """Return the loop whose calls a loop runs, or was sent the results of; note these as answered."""
    found: list[LoopPlan] = []
    for span, name in _named_calls(plan):
        waiting = [each for each in requests[name] if not each.is_over(span.start)][-OPEN_MAX:]
        requests[name] = waiting
        before = [
            each for each in waiting if each.span.start <= span.start and not are_apart(each.span, span)
        ]
        request = max(before, key=lambda each: (not each.is_answered, each.span.start), default=None)
        if request is not None:
            found.append(request.loop)
            if span.kind == "model":
                request.add(span)
    return next(iter(found), None)


def _open_calls(plan: LoopPlan) -> Iterator[tuple[Digest, str]]:
    """Yield the calls that a loop asked for and whose results no later model call of it was sent."""
    sent: set[str] = set()
    for call in sorted(plan.calls, key=lambda call: (call.span.start, call.span.id), reverse=True):
        names = dict.fromkeys(name for line in _lines(call) for name in requested(line))
        yield from ((call.span, name) for name in names if name not in sent)
        sent.update(name for line in _lines(call) for name in answered(line))


def _named_calls(plan: LoopPlan) -> Iterator[tuple[Digest, str]]:
    """Yield the calls that the tools of a loop run, and whose results its model calls were sent."""
    for span in plan.spans:
        if span.call and (scope := _scope(span)):
            yield span, f"{scope} {call_name(span.call)}"
    for call in plan.calls:
        names = dict.fromkeys(name for line in _lines(call) for name in answered(line))
        yield from ((call.span, name) for name in names)


def _lines(call: Call) -> Iterator[Digest]:
    """Yield the lines of a call; those that name no session or user have that of another one."""
    session, user = call.first("session"), call.first("user")
    for line in call.sources:
        yield replace(line, session=session, user=user) if line.session != session else line


def _prompts(plan: LoopPlan) -> Iterator[str]:
    """Yield the names of the prompts that a loop's lines belong to."""
    for span in plan.all_spans():
        if span.prompt:
            yield f"{span.session or _without_session(span)} {span.prompt}"


def _is_next(plan: LoopPlan, last: Call | None) -> bool:
    """Return whether a loop follows one whose last call is answered, although their prompts have one id.

    Gemini CLI may give all prompts of a session the id of the session.
    """
    span = plan.calls[0].span if plan.calls else None
    if span is None or span.prompt != span.session or last is None:
        return False
    return not (last.calls or last.span.error) and last.span.end <= span.start


def _scope(line: Digest) -> str:
    return f"session {line.session}" if line.session else ""


def _without_session(line: Digest) -> str:
    return f"service {line.service} user {line.user} opening {line.opening}"


def _start(plan: LoopPlan) -> int:
    return min((span.start for span in plan.all_spans()), default=0)

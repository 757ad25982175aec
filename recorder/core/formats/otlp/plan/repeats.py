"""Spans that repeat others: sums of model calls, tool calls as several layers see them, and agents alone.

A call is counted once. A model span around several model calls in sequence is a frame with their sum, and so
is one that has their sum beside them. A tool span below one of the same name, or of the Model Context
Protocol, is the same call; so is one beside it of another instrumentation, or that of its server in another
trace. What an agent span reports is a call if there is no model call below it.

Usage and cost that only a frame reports, such as a workflow or a chain, are those of the last model call
below it, or of the agent there. Of several agents none can be told, so the frame is a loop above them. With
neither below it it is a model call itself, or an agent if nothing is above it.

Cost: linear in the number of spans, but for sorting.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from recorder.core.formats.otlp.plan import siblings
from recorder.core.formats.otlp.plan.calls import Call, Key, key_of, overlapping
from recorder.core.formats.otlp.plan.forest import Forest
from recorder.core.formats.otlp.plan.loops import LoopPlan, TurnPlan
from recorder.core.formats.otlp.plan.tool_calls import requests
from recorder.core.formats.otlp.spans.digest import Digest

_CODING = frozenset(("claude-code", "codex", "gemini-cli"))  # whose calls log records report


@dataclass(slots=True)
class _Below:
    """What is below a span: whether any reports figures, the last model call, and the outermost agents."""

    has_figures: bool = False
    call: Digest | None = None  # below no agent
    agent: Digest | None = None  # one of them
    agents: int = 0

    def add(self, other: _Below) -> None:
        self.has_figures |= other.has_figures
        self.call = max(filter(None, (self.call, other.call)), key=_order, default=None)
        self.agent = self.agent or other.agent
        self.agents += other.agents


def nearest(spans: Mapping[Key, Digest], kind: str, walls: Iterable[str]) -> dict[Key, Key]:
    """Return for spans of a kind the nearest one of it above, with none of the kinds `walls` between."""
    above: dict[Key, Key | None] = {}  # by key of any span: the nearest one of the kind above it
    barred = frozenset(walls)
    for span in spans.values():
        path: list[Digest] = []
        on_path: set[Key] = set()
        at: Digest | None = span
        while at is not None and key_of(at) not in above and key_of(at) not in on_path:
            path.append(at)
            on_path.add(key_of(at))
            at = spans.get((at.trace, at.parent)) if at.parent else None
        if at is not None and key_of(at) in on_path:  # parents in a circle
            above.update(dict.fromkeys(on_path, None))
            continue
        for each in reversed(path):
            parent = spans.get((each.trace, each.parent)) if each.parent else None
            if parent is None or parent.kind in barred:
                above[key_of(each)] = None
            else:
                above[key_of(each)] = key_of(parent) if parent.kind == kind else above.get(key_of(parent))
    return {key: of for key, of in above.items() if of is not None and spans[key].kind == kind}


def without_sums(spans: Mapping[Key, Digest]) -> dict[Key, Digest]:
    """Return spans whose model spans around several calls, or around one if they are a guess, are frames.

    So are those that are the sum of the others of their trace.
    """
    inner: dict[Key, list[Digest]] = defaultdict(list)
    for key, of in nearest(spans, "model", ("agent", "tool")).items():
        span = spans[key]
        if (span.usage is not None or span.answer) and not span.error:
            inner[of].append(span)
    found = dict(spans)
    for key, below in inner.items():
        if (spans[key].is_guess and not all(each.is_guess for each in below)) or len(overlapping(below)) > 1:
            found[key] = replace(spans[key], kind="frame", name="")
    for span in siblings.sums(span for span in found.values() if span.kind == "model"):
        found[key_of(span)] = replace(span, kind="frame", name="", usage=None, cost_nano=-1)
    return found


def sums_of_frames(spans: Mapping[Key, Digest], notes: Iterable[Digest]) -> dict[Key, Digest]:
    """Return the spans with figures that only frames report, by the key of what they are of.

    That is a model call, an agent, or a frame itself, which is of another kind then. Log records may report
    the figures of the calls of their trace; then a frame has their sum.
    """
    found: dict[Key, Digest] = {}
    frames = [span for span in spans.values() if span.kind == "frame" and span.reports_figures]
    known = {note.trace for note in notes if note.reports_figures} if frames else set()
    if all(frame.trace in known for frame in frames):
        return found
    forest = Forest(spans)
    of: dict[Key, _Below] = {}
    for span in reversed(forest.outer_first):
        below = of.pop(key_of(span), None) or _Below(span.trace in known)
        parent = forest.parent(span)
        if span.kind == "frame" and span.reports_figures and not below.has_figures:
            found[_target(span, below)] = _with_sum(span, below, is_root=parent is None)
            below.has_figures = True
        elif span.kind in ("model", "agent"):
            below.has_figures |= span.reports_figures
        if span.kind == "agent":
            below = _Below(below.has_figures, agent=span, agents=1)
        elif span.kind == "model":
            below.add(_Below(call=span))
        if parent is not None:
            of.setdefault(key_of(parent), _Below()).add(below)
    return found


def repeated_tools(spans: Mapping[Key, Digest]) -> dict[Key, Key]:
    """Return for each tool span that repeats another one the span of the call."""
    outer: dict[Key, Key] = {}
    for key, of in nearest(spans, "tool", ("agent", "model")).items():
        span, around = spans[key], spans[of]
        if (span.is_mcp or span.name == around.name) and not (
            span.call and around.call and span.call != around.call
        ):
            outer[key] = of
    tools = [span for span in spans.values() if span.kind == "tool"]
    inner = (span for span in tools if span.parent and key_of(span) not in outer)
    for pairs in (siblings.tool_pairs(inner), requests.pairs(tools)):
        outer.update((key_of(span), key_of(other)) for span, other in list(pairs))
    for key in list(outer):
        seen = {key}
        while (of := outer[key]) in outer and of not in seen:
            seen.add(of)
            outer[key] = outer[of]
    return {key: of for key, of in outer.items() if of not in outer}


def add_agent_calls(plans: Sequence[LoopPlan]) -> None:
    """Give agents what only their spans report; parents come first.

    Without a model call below them that is a call. Else the last call has the usage, the cost and the answer
    of the agent, each if no call has any.
    """
    with_calls: set[str] = set()  # keys of loops that calls are in or below,
    with_figures: set[str] = set()  # and of those with calls that report usage
    for plan in reversed(plans):
        is_alone = plan.key not in with_calls
        is_sum = plan.agent is not None and plan.agent.reports_figures and plan.key not in with_figures
        if not plan.calls and (is_alone or is_sum) and plan.agent is not None and _reports_call(plan.agent):
            plan.calls.append(Call(replace(plan.agent, kind="model")))
            plan.turns.append(TurnPlan(plan.calls[0]))
        elif plan.turns and plan.agent is not None and plan.agent.runtime not in _CODING:
            _complete(plan.turns[-1].call, plan, plan.agent, has_figures=plan.key in with_figures)
        above = {plan.key, plan.parent.key} if plan.parent is not None else {plan.key}
        if plan.calls or plan.key in with_calls:
            with_calls |= above
        if plan.key in with_figures or any(map(_has_figures, plan.calls)):
            with_figures |= above


def _complete(last: Call, plan: LoopPlan, agent: Digest, *, has_figures: bool) -> None:
    if agent.reports_figures and not has_figures and not any(map(_has_figures, plan.calls)):
        last.figures = agent
    is_silent = not any(each.has_text for call in plan.calls for each in call.sources)
    if agent.answer and not agent.calls and is_silent:
        last.text = agent


def _has_figures(call: Call) -> bool:
    return call.usage is not None or call.cost_nano >= 0


def _reports_call(agent: Digest) -> bool:
    if agent.kind != "agent" or agent.runtime in _CODING:
        return False
    return agent.reports_figures or bool(agent.answer)


def _target(frame: Digest, below: _Below) -> Key:
    """Return the key of the span that the figures of a frame are of."""
    one = below.agent if below.agents == 1 else None if below.agents else below.call
    return key_of(one or frame)


def _with_sum(frame: Digest, below: _Below, *, is_root: bool) -> Digest:
    """Return the span with the figures of a frame: the agent below it, or the frame."""
    if below.agents == 1 and below.agent is not None:
        agent, model = below.agent, below.agent.model or frame.model
        return replace(agent, usage=frame.usage, cost_nano=frame.cost_nano, model=model)
    if below.agents or below.call is None:
        return replace(frame, kind="agent" if below.agents or is_root else "model", is_guess=True)
    return frame


def _order(span: Digest) -> tuple[int, str]:
    return span.start, span.id

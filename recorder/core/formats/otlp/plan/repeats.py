"""Spans that repeat others: sums of model calls, tool calls as several layers see them, and agents alone.

A call is counted once. A model span around several model calls in sequence is a frame with their sum. A tool
span below one of the same name, or of the Model Context Protocol, is the same call; so is one beside it,
within its time, that names no call. What an agent span reports is a call if there is no model call below it.

Cost: linear in the number of spans, but for sorting.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from recorder.core.formats.otlp.plan.calls import Call, Key, key_of, overlapping
from recorder.core.formats.otlp.plan.loops import LoopPlan, TurnPlan
from recorder.core.formats.otlp.spans.digest import Digest

_CODING = frozenset(("claude-code", "codex", "gemini-cli"))  # whose calls log records report


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
    """Return spans whose model spans around several calls, or around one if they are a guess, are frames."""
    inner: dict[Key, list[Digest]] = defaultdict(list)
    for key, of in nearest(spans, "model", ("agent", "tool")).items():
        span = spans[key]
        if (span.usage is not None or span.answer) and not span.error:
            inner[of].append(span)
    found = dict(spans)
    for key, below in inner.items():
        if (spans[key].is_guess and not all(each.is_guess for each in below)) or len(overlapping(below)) > 1:
            found[key] = replace(spans[key], kind="frame", name="")
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
    beside: dict[tuple[str, str, str], list[Digest]] = defaultdict(list)
    for span in spans.values():
        if span.kind == "tool" and span.parent and key_of(span) not in outer:
            beside[span.trace, span.parent, span.name].append(span)
    for group in beside.values():
        outer.update(_beside(group))
    for key in list(outer):
        seen = {key}
        while (of := outer[key]) in outer and of not in seen:
            seen.add(of)
            outer[key] = outer[of]
    return {key: of for key, of in outer.items() if of not in outer}


def _beside(group: list[Digest]) -> dict[Key, Key]:
    """Return for tool spans of one name that name no call those around them in time by another scope."""
    found: dict[Key, Key] = {}
    paired: set[tuple[Key, str]] = set()
    ordered = sorted(group, key=lambda span: (span.start, -span.end, span.id))
    named = [span for span in ordered if span.call]
    at = 0
    for span in (each for each in ordered if not each.call):
        while at < len(named) and named[at].end < span.end:
            at += 1
        if at < len(named) and named[at].start <= span.start and named[at].runtime != span.runtime:
            mark = key_of(named[at]), span.runtime
            if mark not in paired:
                paired.add(mark)
                found[key_of(span)] = key_of(named[at])
    return found


def add_agent_calls(plans: Sequence[LoopPlan]) -> None:
    """Give agents a call of what their spans report, if no model call is below them; parents come first."""
    with_calls: set[str] = set()  # keys of loops that calls are in or below
    for plan in reversed(plans):
        is_alone = not plan.calls and plan.key not in with_calls
        if is_alone and plan.agent is not None and _reports_call(plan.agent):
            plan.calls.append(Call(replace(plan.agent, kind="model")))
            plan.turns.append(TurnPlan(plan.calls[0]))
        if plan.calls or plan.key in with_calls:
            with_calls.update((plan.key, plan.parent.key) if plan.parent is not None else (plan.key,))


def _reports_call(agent: Digest) -> bool:
    if agent.kind != "agent" or agent.runtime in _CODING:
        return False
    return agent.usage is not None or agent.cost_nano >= 0 or bool(agent.answer)

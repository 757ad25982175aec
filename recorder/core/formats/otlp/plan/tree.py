"""Loops, turns and tool calls from the digests of a unit: a function of their set, not of their order.

A loop is an agent span. Spans whose ancestors are not known yet, and those of a trace without an agent span,
belong to the main loop of their trace, so that a loop exists from its first span on. Model calls that are
traces of their own form one loop if their tool calls, or a prompt's id, join them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from recorder.core.formats.otlp.plan.calls import Key, calls_of, key_of
from recorder.core.formats.otlp.plan.loops import LoopPlan, ToolUse
from recorder.core.formats.otlp.plan.turns import make_turns
from recorder.core.formats.otlp.spans.digest import Digest

_JOINING = frozenset(("gemini-cli",))  # runtimes whose model calls are traces of their own


def loops_of(digests: Iterable[Digest]) -> list[LoopPlan]:
    """Return the loops of a unit, parents first."""
    ordered = sorted(digests, key=lambda each: (each.start, each.end, each.trace, each.id, each.print))
    spans = {key_of(each): each for each in ordered if not each.is_log and each.kind != "noise"}
    notes = [each for each in ordered if each.is_log]
    return _Tree(spans, notes).loops()


class _Tree:
    def __init__(self, spans: dict[Key, Digest], notes: Sequence[Digest]) -> None:
        self.spans, self.notes = spans, notes
        self.children: dict[Key, list[Digest]] = defaultdict(list)
        for span in spans.values():
            self.children[span.trace, span.parent].append(span)
        self.calls = calls_of(spans, notes)
        self.agents = self._agents()
        self.plans: dict[str, LoopPlan] = {}
        self.by_agent: dict[Key, LoopPlan] = {}

    def loops(self) -> list[LoopPlan]:
        self._plan_agents()
        for call in self.calls:
            self._plan_of(call.span).calls.append(call)
        for span in self.spans.values():
            if span.kind == "tool":
                inner = (child.error for child in self.children[key_of(span)] if child.kind == "frame")
                span.error = span.error or next(filter(None, inner), "")
                self._plan_of(span).spans.append(span)
        self._join_bare()
        plans = [plan for plan in self.plans.values() if plan.agent is not None or plan.calls or plan.spans]
        for plan in plans:
            _describe(plan)
            make_turns(plan, self.notes)
        for plan in plans:
            self._link(plan)
        return sorted(plans, key=lambda plan: (_depth(plan), plan.start, plan.key))

    def _parent(self, span: Digest) -> Digest | None:
        return self.spans.get((span.trace, span.parent)) if span.parent else None

    def _above(self, span: Digest) -> Iterable[Digest]:
        """Yield the known ancestors of a span, the nearest first."""
        seen = {span.id}
        while (parent := self._parent(span)) is not None and parent.id not in seen:
            seen.add(parent.id)
            yield parent
            span = parent

    def _agents(self) -> dict[Key, Digest]:
        """Return the spans that are loops: agent spans that are no frame, and nodes that run an agent."""
        found = {key: span for key, span in self.spans.items() if span.kind == "agent"}
        found |= {key_of(span): span for span in self._nodes()}
        return {key: span for key, span in found.items() if not self._is_frame(span, found)}

    def _nodes(self) -> Iterable[Digest]:
        """Yield frames of LangChain that are loops: a graph below a tool, and parallel nodes with calls."""
        of_calls = {key_of(above) for call in self.calls for above in self._until_agent(call.span)}
        steps: dict[tuple[str, str, int], list[Digest]] = defaultdict(list)
        for key, span in self.spans.items():
            if span.kind != "frame" or key not in of_calls:
                continue
            parent = self._parent(span)
            if parent is not None and parent.kind == "tool" and span.runtime == "langchain":
                yield span
            elif span.step >= 0:
                steps[span.trace, span.parent, span.step].append(span)
        for nodes in steps.values():
            if len({node.name for node in nodes}) > 1:
                yield from nodes

    def _until_agent(self, span: Digest) -> Iterable[Digest]:
        for above in self._above(span):
            if above.kind == "agent":
                return
            yield above

    def _is_frame(self, span: Digest, agents: dict[Key, Digest]) -> bool:
        """Return whether an agent span only wraps other agent spans."""
        inner = [
            other
            for key, other in agents.items()
            if other is not span
            and next((a for a in self._above(other) if key_of(a) in agents or a.kind == "tool"), None) is span
        ]
        if not inner:
            return False
        own = [*(call.span for call in self.calls), *(s for s in self.spans.values() if s.kind == "tool")]
        has_own = any(
            next((a for a in self._above(each) if key_of(a) in agents), None) is span for each in own
        )
        return not has_own

    def _plan_agents(self) -> None:
        tops: dict[str, list[Digest]] = defaultdict(list)
        for span in self.agents.values():
            if not any(key_of(above) in self.agents for above in self._above(span)):
                tops[span.trace].append(span)
        main = {trace: min(found, key=lambda s: (s.start, s.id)) for trace, found in tops.items()}
        for span in self._without_agent():
            if (first := main.get(span.trace)) is not None and first.parent and span.start < first.start:
                del main[span.trace]  # the agent above this earlier span is still to come
        for key, span in self.agents.items():
            is_main = main.get(span.trace) is span
            plan = LoopPlan(span.trace if is_main else f"{span.trace}-{span.id}", span.trace, agent=span)
            self.plans[plan.key] = self.by_agent[key] = plan

    def _without_agent(self) -> Iterable[Digest]:
        for span in [*(call.span for call in self.calls), *self.spans.values()]:
            if span.kind in ("model", "tool") and not any(
                key_of(a) in self.agents for a in self._above(span)
            ):
                yield span

    def _plan_of(self, span: Digest) -> LoopPlan:
        """Return the loop of a model or tool span: its nearest agent, else the main loop of its trace."""
        agent = next((above for above in self._above(span) if key_of(above) in self.agents), None)
        key = span.trace if agent is None else self.by_agent[key_of(agent)].key
        if span.owner:  # a sub-agent of Claude Code has no span of its own
            key = f"{span.trace}-{span.owner}"
        if span.is_log:
            key = key or f"log-{span.session}-{span.prompt}"
        plan = self.plans.get(key)
        if plan is None:
            plan = self.plans[key] = LoopPlan(key, span.trace)
            self._set_root(plan, span)
        return plan

    def _set_root(self, plan: LoopPlan, span: Digest) -> None:
        """Let the root of a trace without an agent end its main loop; a model call that is one is bare."""
        above = [span, *self._above(span)]
        root = above[-1]
        if span.owner:
            plan.name = next((a.child for a in above if a.kind == "tool" and a.child), "") or "sub-agent"
        elif span.is_log or (not root.parent and (root is span or root.runtime in _JOINING)):
            plan.is_bare = True
        elif not root.parent:
            plan.agent = root

    def _join_bare(self) -> None:
        """Join bare loops that share a prompt, or of which one was sent the results of the other's calls."""
        bare = sorted(
            (plan for plan in self.plans.values() if plan.is_bare), key=lambda plan: (_start(plan), plan.key)
        )
        of: dict[str, LoopPlan] = {}
        for plan in bare:
            names = list(_joining_names(plan))
            into = next((of[name] for name in names if name in of), plan)
            if into is not plan:
                into.calls += plan.calls
                into.spans += plan.spans
                del self.plans[plan.key]
            of.update(dict.fromkeys(names, into))

    def _link(self, plan: LoopPlan) -> None:
        """Link a loop to the loop and tool call that started it."""
        anchor = plan.agent or next((span for span in plan.all_spans() if span.owner), None)
        if anchor is None or anchor.is_log:
            return
        tool, agent = None, None
        for above in self._above(anchor):
            if above.kind == "tool" and (plan.agent is not None or above.owner != anchor.owner):
                tool = above
                break
            if key_of(above) in self.agents:
                agent = above
                break
        if tool is not None:
            owner = next((other for other in self.plans.values() if tool in other.spans), None)
        else:
            owner = self.by_agent.get(key_of(agent)) if agent is not None else self._handed_over(plan)
        if owner is None or _descends(owner, plan):
            return
        plan.parent = owner
        uses = owner.tools
        plan.via = next((use for use in uses if tool is not None and use.span is tool), None) or next(
            (use for use in uses if use.name == plan.name or _hands_over(use, plan.name)), None
        )

    def _handed_over(self, plan: LoopPlan) -> LoopPlan | None:
        """Return the loop that handed over to this one, as its agent span or a tool of the other one says."""
        if plan.agent is None:
            return None
        for other in self.plans.values():
            if other is plan or other.trace != plan.trace or other.agent is None:
                continue
            if other.name == plan.agent.parent_node or any(
                _hands_over(use, plan.name) for use in other.tools
            ):
                return other
        return None


def _describe(plan: LoopPlan) -> None:
    """Set the name and the start of a loop."""
    begins = [span.start for span in plan.all_spans()]
    if plan.agent is not None:
        begins.append(plan.agent.start)
    plan.start = min((begin for begin in begins if begin), default=0)
    named = next((span.agent for span in plan.all_spans() if span.agent), "")
    graph = next((span.agent for span in plan.all_spans() if span.runtime == "langchain" and span.agent), "")
    if plan.agent is not None and not graph and (plan.agent.kind == "agent" or not named):
        named = plan.agent.name or named
    plan.name = plan.name or named


def _joining_names(plan: LoopPlan) -> Iterable[str]:
    """Yield what bare loops may share: a prompt, and the ids of tool calls."""
    for span in plan.all_spans():
        if span.prompt:
            yield f"prompt {span.session} {span.prompt}"
        if span.call:
            yield f"call {call_name(span.call)}"
    for call in plan.calls:
        for call_id, _ in call.calls:
            yield f"call {call_name(call_id)}"
        for result in call.results:
            if result[0]:
                yield f"call {call_name(str(result[0]))}"


def call_name(call_id: str) -> str:
    """Return the id of a tool call without the tool's name, which Gemini CLI writes before it."""
    return call_id.rsplit("__", 1)[-1]


def _hands_over(use: ToolUse, agent: str) -> bool:
    """Return whether a tool hands the run over to an agent, by its name."""
    span = use.span.name if use.span is not None else ""
    plain = agent.lower().replace(" ", "_")
    return bool(agent) and (
        span.lower() in (f"handoff to {agent.lower()}", f"handoff: {agent.lower()}")
        or use.name.lower() == f"transfer_to_{plain}"
    )


def _descends(loop: LoopPlan, ancestor: LoopPlan) -> bool:
    above: LoopPlan | None = loop
    while above is not None:
        if above is ancestor:
            return True
        above = above.parent
    return False


def _depth(plan: LoopPlan) -> int:
    depth, above = 0, plan.parent
    while above is not None:
        depth, above = depth + 1, above.parent
    return depth


def _start(plan: LoopPlan) -> int:
    return min((span.start for span in plan.all_spans()), default=0)

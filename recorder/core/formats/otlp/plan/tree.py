"""Loops, turns and tool calls from the digests of a unit: a function of their set, not of their order.

A loop is an agent span. Spans whose ancestors are not known yet, and those of a trace without an agent span,
belong to the main loop of their trace, so that a loop exists from its first span on. Model calls that are
traces of their own form one loop if their tool calls, or a prompt's id, join them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from recorder.core.formats.otlp.plan import log_records
from recorder.core.formats.otlp.plan.bare import join_bare
from recorder.core.formats.otlp.plan.calls import Key, calls_of, key_of, overlapping
from recorder.core.formats.otlp.plan.forest import Forest
from recorder.core.formats.otlp.plan.frames import frames_of
from recorder.core.formats.otlp.plan.links import Links, depths_of, main_key
from recorder.core.formats.otlp.plan.loops import LoopPlan, ToolUse
from recorder.core.formats.otlp.plan.repeats import (
    add_agent_calls,
    repeated_tools,
    sums_of_frames,
    without_sums,
)
from recorder.core.formats.otlp.plan.turns import make_turns
from recorder.core.formats.otlp.spans.digest import Digest

DEPTH_MAX = 200  # spans above one that are looked at for the root of a trace; captures have up to 18
NOTES_MAX = 20  # log records of one tool call that are looked at
_JOINING = frozenset(("gemini-cli",))  # runtimes whose model calls are traces of their own


def loops_of(digests: Iterable[Digest]) -> list[LoopPlan]:
    """Return the loops of a unit, parents first."""
    ordered = sorted(digests, key=lambda each: (each.start, each.end, each.trace, each.id, each.print))
    spans = {key_of(each): each for each in ordered if not each.is_log and each.kind != "noise"}
    notes = [each for each in ordered if each.is_log]
    spans = without_sums(_with_call_ids(log_records.with_exceptions(spans, notes)))
    sums = sums_of_frames(spans, notes)
    spans |= {key: span for key, span in sums.items() if spans[key].kind != "model"}
    repeats: dict[Key, list[Digest]] = defaultdict(list)
    for key, of in repeated_tools(spans).items():
        repeats[of].append(spans[key])
        spans[key] = replace(spans[key], kind="frame")
    return _Tree(spans, notes, repeats, sums).loops()


def _with_call_ids(spans: dict[Key, Digest]) -> dict[Key, Digest]:
    """Return spans whose tools have the id of their call also if only the node around them has it."""
    found = dict(spans)
    calls: dict[Key, str] = {}  # by key of a node: its id of a call, else that of the nearest node above
    for key, span in spans.items():
        if span.kind != "tool" or span.call:
            continue
        path: list[Key] = []
        node = spans.get((span.trace, span.parent))
        while node is not None and node.kind == "frame" and not node.call and key_of(node) not in calls:
            path.append(key_of(node))
            calls[path[-1]] = ""  # also if they form a circle
            node = spans.get((node.trace, node.parent))
        call = ""
        if node is not None and node.kind == "frame":
            call = node.call or calls[key_of(node)]
        calls |= dict.fromkeys(path, call)
        if call:
            found[key] = replace(span, call=call)
    return found


class _Tree:
    def __init__(
        self,
        spans: dict[Key, Digest],
        notes: Sequence[Digest],
        repeats: Mapping[Key, Sequence[Digest]],
        sums: Mapping[Key, Digest],
    ) -> None:
        self.spans, self.notes = spans, notes
        self.repeats = repeats  # by key of a tool span: the spans that repeat it
        self.forest = Forest(spans)
        self.children = self.forest.children
        self.calls = calls_of(spans, notes)
        for call in self.calls if sums else ():
            keys = map(key_of, (call.span, *call.others))
            call.figures = next(
                (sums[key] for key in keys if key in sums and sums[key].kind == "frame"), None
            )
        self.reported: list[Digest] = []  # tools of which there are only log records
        if not self.calls:
            self.calls = log_records.calls_of(notes)
            if not any(span.kind == "tool" for span in spans.values()):
                self.reported = log_records.tools_of(notes, self.calls)
        log_records.add_failures(self.calls, notes, {span.trace for span in spans.values()})
        tools = (key for key, span in spans.items() if span.kind == "tool")
        self.own = {*(key_of(call.span) for call in self.calls if not call.span.is_log), *tools}
        self.agents = self._agents()
        self.agent_above = self.forest.nearest(self._is_agent)
        self.solid_above = self.forest.nearest(lambda span: span.kind != "frame" or self._is_agent(span))
        self.starts_above = self.forest.nearest(lambda span: span.kind == "tool" or self._is_agent(span))
        self.hosts = {key_of(tool) for call in self.calls if (tool := self._host(call.span)) is not None}
        self.loop_above = self.forest.nearest(lambda span: self._is_agent(span) or key_of(span) in self.hosts)
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
            elif span.compacted and span.kind == "frame" and (agent := self.agent_above(span)) is not None:
                self.by_agent[key_of(agent)].compactions.append(span)
        for span in self.reported:
            self._plan_of(span).spans.append(span)
        join_bare(self.plans)
        self._add_guardrails()
        plans = [plan for plan in self.plans.values() if plan.agent is not None or plan.calls or plan.spans]
        of_call: dict[str, list[Digest]] = defaultdict(list)
        for note in self.notes:
            if note.call and len(of_call[note.call]) < NOTES_MAX:
                of_call[note.call].append(note)
        for plan in plans:
            _describe(plan)
            make_turns(plan, of_call)
            for tool in plan.tools:
                tool.wait = self._wait(tool.span)
                self._add_repeats(tool)
        Links(self.plans, self.by_agent, self.starts_above).link(plans)
        log_records.close(plans, self.notes)
        depths = depths_of(plans)
        plans.sort(key=lambda plan: (depths[plan.key], plan.start, plan.key))
        add_agent_calls(plans)
        return plans

    def _add_guardrails(self) -> None:
        """Give the guardrails that blocked something to the loops that they are in."""
        for span in self.spans.values():
            if span.kind != "frame" or span.outcome != "blocked":
                continue
            above = self.loop_above(span)
            plan = self.by_agent.get(key_of(above)) if above is not None else None
            plan = plan or self.plans.get(span.trace)
            if plan is not None:
                plan.guardrails.append(span)

    def _add_repeats(self, tool: ToolUse) -> None:
        repeats = self.repeats.get(key_of(tool.span), ()) if tool.span is not None else ()
        tool.notes = [*tool.notes, *repeats]
        tool.error = tool.error or next((each.error for each in repeats if each.error), "")
        tool.has_failed |= any(each.error for each in repeats)

    def _wait(self, tool: Digest | None) -> Digest | None:
        inner = self.children[key_of(tool)] if tool is not None and key_of(tool) in self.children else []
        return next((each for each in inner if each.name.endswith("blocked_on_user")), None)

    def _is_agent(self, span: Digest) -> bool:
        return key_of(span) in self.agents

    def _agents(self) -> dict[Key, Digest]:
        """Return the spans that are loops: agent spans that are no frame, and nodes that run an agent."""
        found = {key: span for key, span in self.spans.items() if span.kind == "agent"}
        found |= {key_of(span): span for span in self._nodes()}
        self._replace_twins(found)
        for key in frames_of(self.forest, found, self.own):
            del found[key]
        return found

    def _replace_twins(self, agents: dict[Key, Digest]) -> None:
        """Replace agent spans without children by the frames of their names beside them.

        traceloop writes `invoke_agent X` beside `execute_task X`, which holds the calls.
        """
        tasks: dict[tuple[str, str, str], list[Digest]] = defaultdict(list)
        for span in self.spans.values():
            if span.kind == "frame" and span.parent and span.name.startswith("execute_task "):
                tasks[span.trace, span.parent, span.name].append(span)
        childless = [
            agent
            for agent in agents.values()
            if agent.kind == "agent" and agent.parent and not self.children.get(key_of(agent))
        ]
        twins = {
            key_of(agent): (agent.trace, agent.parent, f"execute_task {agent.name}") for agent in childless
        }
        for key in [key for key, name in twins.items() if name in tasks]:
            del agents[key]
        for name in dict.fromkeys(name for name in twins.values() if name in tasks):
            agents.update({key_of(frame): frame for frame in tasks[name]})

    def _nodes(self) -> Iterable[Digest]:
        """Yield frames that are loops: one with model calls below a tool, and LangGraph's parallel nodes.

        Chains that a node runs one after the other have the step of the node, too.
        """
        of_calls: set[Key] = set()
        for call in self.calls:
            for above in () if call.span.owner else self.forest.above(call.span):
                if above.kind == "agent" or key_of(above) in of_calls:
                    break
                of_calls.add(key_of(above))
        steps: dict[tuple[str, str, int], list[Digest]] = defaultdict(list)
        for key, span in self.spans.items():
            if span.kind != "frame" or key not in of_calls:
                continue
            parent = self.forest.parent(span)
            if parent is not None and parent.kind == "tool":
                yield span
            elif span.step >= 0:
                steps[span.trace, span.parent, span.step].append(span)
        for together in (group for nodes in steps.values() for group in overlapping(nodes)):
            if len({node.name for node in together}) > 1:
                yield from together

    def _host(self, span: Digest) -> Digest | None:
        """Return the tool that makes a model call itself: the nearest span above that is no frame."""
        if span.owner:  # a sub-agent of Claude Code
            return None
        nearest = self.solid_above(span)
        return nearest if nearest is not None and nearest.kind == "tool" else None

    def _plan_agents(self) -> None:
        tops: dict[str, list[Digest]] = defaultdict(list)
        for span in self.agents.values():
            if self.agent_above(span) is None:
                tops[span.trace].append(span)
        main = {trace: min(found, key=lambda s: (s.start, s.id)) for trace, found in tops.items()}
        for span in self._without_agent():
            first = main.get(span.trace)
            # The agent above an earlier span is still to come; one beside parallel nodes is of their graph,
            # and one beside several agents of the frame around them.
            is_beside = first is not None and (first.step >= 0 or len(tops[span.trace]) > 1)
            if first is not None and first.parent and (span.start < first.start or is_beside):
                del main[span.trace]
        for key, span in self.agents.items():
            is_main = main.get(span.trace) is span
            plan = LoopPlan(span.trace if is_main else f"{span.trace}-{span.id}", span.trace, agent=span)
            self.plans[plan.key] = self.by_agent[key] = plan

    def _without_agent(self) -> Iterable[Digest]:
        for span in [*(call.span for call in self.calls), *self.spans.values()]:
            if span.kind in ("model", "tool") and self.agent_above(span) is None:
                yield span

    def _plan_of(self, span: Digest) -> LoopPlan:
        """Return the loop of a model or tool span: its nearest agent, else the main loop of its trace."""
        above = self.loop_above(span)
        host = above if above is not None and key_of(above) in self.hosts else None
        if above is None:
            key = span.trace
        else:
            key = f"{span.trace}-{above.id}" if host is not None else self.by_agent[key_of(above)].key
        if span.is_log:
            key = main_key(span)
        if span.owner:  # a sub-agent of Claude Code has no span of its own
            key = f"{main_key(span)}-{span.owner}"
        plan = self.plans.get(key)
        if plan is None:
            plan = self.plans[key] = LoopPlan(key, span.trace, host=None if span.owner else host)
            if plan.host is None:
                self._set_root(plan, span)
        return plan

    def _set_root(self, plan: LoopPlan, span: Digest) -> None:
        """Let the root of a trace without an agent end its main loop; a model call that is one is bare."""
        above = [span, *islice(self.forest.above(span), DEPTH_MAX)]
        root = above[-1]
        if span.owner and not span.is_log:
            plan.name = next((a.child for a in above if a.kind == "tool" and a.child), "") or "sub-agent"
        elif span.is_log:
            plan.is_bare = not span.owner
        elif not root.parent and (root is span or root.runtime in _JOINING):
            plan.is_bare = True
        elif not root.parent:
            plan.agent = root


def _describe(plan: LoopPlan) -> None:
    """Set the name and the start of a loop."""
    begins = [span.start for span in plan.all_spans()]
    if plan.agent is not None:
        begins.append(plan.agent.start)
    plan.start = min((begin for begin in begins if begin), default=0)
    named = next((span.agent for span in plan.all_spans() if span.agent), "")
    graph = next((span.agent for span in plan.all_spans() if span.runtime == "langchain" and span.agent), "")
    if plan.agent is not None and not graph and (plan.agent.kind == "agent" or not named):
        named = plan.agent.name.removesuffix(".run") or named
    plan.name = plan.name or named or (plan.host.child if plan.host is not None else "")

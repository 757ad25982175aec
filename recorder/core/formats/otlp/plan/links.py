"""Which loop and tool call started a loop: the tool or agent above its spans, or the one that handed over.

Cost: linear in the number of loops and of tool calls. Of the loops of a trace that hand over the last
`HANDING_MAX` that began before a loop are looked at.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from recorder.core.formats.otlp.plan.calls import Key, key_of
from recorder.core.formats.otlp.plan.loops import LoopPlan, ToolUse
from recorder.core.formats.otlp.plan.tool_calls.open_calls import OpenCalls
from recorder.core.formats.otlp.plan.tool_calls.uses import Uses, is_transfer
from recorder.core.formats.otlp.spans.digest import Digest

HANDING_MAX = 50


class Links:
    """Links loops to those that started them.

    `plans` are all loops by key, `by_agent` those by the span that is the loop, and `above` returns the
    nearest tool or agent above a span.
    """

    def __init__(
        self,
        plans: Mapping[str, LoopPlan],
        by_agent: Mapping[Key, LoopPlan],
        above: Callable[[Digest], Digest | None],
    ) -> None:
        self._plans, self._by_agent, self._above = plans, by_agent, above
        self._of_tool: dict[Key, LoopPlan] = {}
        # By trace: loops that hand over, with their start and key, in this order.
        self._handing: dict[str, list[tuple[int, str, LoopPlan]]] = defaultdict(list)
        self._uses: dict[str, Uses] = {}  # by key of a loop
        self._open: dict[str, OpenCalls] = {}  # the same
        self._tops: dict[str, LoopPlan] = {}  # by key of a loop: one above it, or the outermost

    def link(self, plans: Sequence[LoopPlan]) -> None:
        """Set the parents of loops, and the tool calls that started them."""
        self._of_tool = {key_of(tool): plan for plan in plans for tool in plan.spans if not tool.is_log}
        for plan in plans:
            if plan.agent is not None and any(map(is_transfer, plan.tools)):
                self._handing[plan.trace].append((plan.start, plan.key, plan))
        for found in self._handing.values():
            found.sort(key=lambda each: each[:2])
        for plan in plans:
            self._link(plan)

    def _link(self, plan: LoopPlan) -> None:
        """Link a loop to the loop and tool call that started it."""
        anchor = plan.host or plan.agent or next((span for span in plan.all_spans() if span.owner), None)
        if anchor is not None and anchor.is_log and anchor.owner:
            main = self._plans.get(main_key(anchor))
            if main is not None and main is not plan:
                plan.parent = self._tops[plan.key] = main
                plan.via = self._uses_of(main).of_sub_agent(plan, anchor.owner)
                self._uses_of(main).take(plan.via)
            return
        if anchor is None or anchor.is_log:
            return
        tool, agent = (plan.host, None) if plan.host is not None else self._start(plan, anchor)
        if tool is not None:
            owner = self._of_tool.get(key_of(tool))
        else:
            owner = self._by_agent.get(key_of(agent)) if agent is not None else self._handed_over(plan)
        if owner is None or self._top(owner) is plan:  # it would be above itself
            return
        plan.parent = self._tops[plan.key] = owner
        uses = self._uses_of(owner)
        plan.via = uses.of_span(tool) or self._named_use(owner, plan) or uses.transfer(plan.start)
        uses.take(plan.via)

    def _start(self, plan: LoopPlan, anchor: Digest) -> tuple[Digest | None, Digest | None]:
        """Return the nearest tool or else agent above a loop, as the one or the other."""
        above = self._above(anchor)
        while above is not None:
            if above.kind == "tool" and (plan.agent is not None or above.owner != anchor.owner):
                return above, None
            if key_of(above) in self._by_agent:
                return None, above
            above = self._above(above)
        return None, None

    def _top(self, plan: LoopPlan) -> LoopPlan:
        """Return the outermost loop above one, or itself."""
        top, path = plan, []
        while (above := self._tops.get(top.key)) is not None:
            path.append(top.key)
            top = above
        self._tops.update(dict.fromkeys(path, top))
        return top

    def _uses_of(self, plan: LoopPlan) -> Uses:
        if plan.key not in self._uses:
            self._uses[plan.key] = Uses(plan.tools)
        return self._uses[plan.key]

    def _named_use(self, owner: LoopPlan, plan: LoopPlan) -> ToolUse | None:
        """Return the tool call by which an agent runs the agent of this name."""
        uses = self._uses_of(owner)
        if use := uses.named(plan.name):
            return use
        if owner.key not in self._open:
            self._open[owner.key] = OpenCalls(owner.turns)
        use = self._open[owner.key].start(plan)
        if use is not None:
            uses.add(use)
            if is_transfer(use):
                insort(self._handing[owner.trace], (owner.start, owner.key, owner), key=lambda each: each[:2])
        return use

    def _handed_over(self, plan: LoopPlan) -> LoopPlan | None:
        """Return the loop that handed over to this one with a tool; of several, the one its span names."""
        if plan.agent is None:
            return None
        near = self._handing.get(plan.trace, [])
        last = bisect_right(near, plan.start, key=lambda each: each[0])
        found = [
            other
            for _, _, other in near[max(0, last - HANDING_MAX) : last]
            if other is not plan
            and (self._uses_of(other).transfer(plan.start) or self._uses_of(other).hands_over(plan.name))
        ]
        named = (other for other in found if other.name == plan.agent.parent_node)
        latest = max(found, key=self._transferred_at(plan.start), default=None)
        return next(named, latest)

    def _transferred_at(self, start: int) -> Callable[[LoopPlan], int]:
        def at(loop: LoopPlan) -> int:
            use = self._uses_of(loop).transfer(start)
            return use.end if use is not None else 0

        return at


def main_key(span: Digest) -> str:
    """Return the key of the loop that a sub-agent without a span of its own belongs to."""
    return span.trace or f"log-{span.session or span.home}-{span.prompt}"


def depths_of(plans: Iterable[LoopPlan]) -> dict[str, int]:
    """Return by key how many loops are above each."""
    depths: dict[str, int] = {}
    for plan in plans:
        path, above = [], plan
        while above.key not in depths and above.parent is not None:
            path.append(above)
            above = above.parent
        depth = depths.setdefault(above.key, 0)
        for each in reversed(path):
            depth = depths[each.key] = depth + 1
    return depths

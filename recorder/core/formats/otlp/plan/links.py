"""Which loop and tool call started a loop: the tool or agent above its spans, or the one that handed over.

Cost: linear in the number of loops and of tool calls, unless many loops of a trace hand over.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from recorder.core.formats.otlp.plan import log_records
from recorder.core.formats.otlp.plan.calls import Key, key_of
from recorder.core.formats.otlp.plan.loops import LoopPlan, ToolUse
from recorder.core.formats.otlp.plan.turns import add_agent_call
from recorder.core.formats.otlp.spans.digest import Digest

_TRANSFER = "transfer_to_agent"  # Google ADK's tool


class Links:
    """Links loops to those that started them.

    `plans` are all loops by key, `by_agent` those by the span that is the loop, and `above` yields the known
    ancestors of a span, the nearest first.
    """

    def __init__(
        self,
        plans: Mapping[str, LoopPlan],
        by_agent: Mapping[Key, LoopPlan],
        above: Callable[[Digest], Iterable[Digest]],
    ) -> None:
        self._plans, self._by_agent, self._above = plans, by_agent, above
        self._of_tool: dict[Key, LoopPlan] = {}
        self._handing: dict[str, list[LoopPlan]] = defaultdict(list)  # by trace: loops that hand over
        self._used: set[int] = set()  # ids of the tool calls that started a loop

    def link(self, plans: Sequence[LoopPlan]) -> None:
        """Set the parents of loops, and the tool calls that started them."""
        self._of_tool = {key_of(tool): plan for plan in plans for tool in plan.spans if not tool.is_log}
        for plan in plans:
            if plan.agent is not None and any(map(_is_transfer, plan.tools)):
                self._handing[plan.trace].append(plan)
        for plan in plans:
            self._link(plan)
            self._used.add(id(plan.via))

    def _link(self, plan: LoopPlan) -> None:
        """Link a loop to the loop and tool call that started it."""
        anchor = plan.host or plan.agent or next((span for span in plan.all_spans() if span.owner), None)
        if anchor is not None and anchor.is_log and anchor.owner:
            main = self._plans.get(main_key(anchor))
            if main is not None and main is not plan:
                log_records.link(plan, main)
            return
        if anchor is None or anchor.is_log:
            return
        tool, agent = plan.host, None
        for above in () if tool is not None else self._above(anchor):
            if above.kind == "tool" and (plan.agent is not None or above.owner != anchor.owner):
                tool = above
                break
            if key_of(above) in self._by_agent:
                agent = above
                break
        if tool is not None:
            owner = self._of_tool.get(key_of(tool))
        else:
            owner = self._by_agent.get(key_of(agent)) if agent is not None else self._handed_over(plan)
        if owner is None or _descends(owner, plan):
            return
        plan.parent = owner
        plan.via = next((use for use in owner.tools if tool is not None and use.span is tool), None)
        plan.via = plan.via or self._named_use(owner, plan) or _transfer(owner, plan)

    def _named_use(self, owner: LoopPlan, plan: LoopPlan) -> ToolUse | None:
        """Return the tool call by which an agent runs the agent of this name."""
        uses = [use for use in owner.tools if use.name == plan.name or _hands_over(use, plan.name)]
        free = [use for use in uses if id(use) not in self._used]
        if use := next(iter([*free, *uses]), None):
            return use
        use = add_agent_call(owner, plan)
        if use is not None and _is_transfer(use):
            self._handing[owner.trace].append(owner)
        return use

    def _handed_over(self, plan: LoopPlan) -> LoopPlan | None:
        """Return the loop that handed over to this one with a tool; of several, the one its span names."""
        if plan.agent is None:
            return None
        found = [
            other
            for other in self._handing.get(plan.trace, ())
            if other is not plan
            and (_transfer(other, plan) or any(_hands_over(use, plan.name) for use in other.tools))
        ]
        named = (other for other in found if other.name == plan.agent.parent_node)
        latest = sorted(found, key=_transferred_at(plan), reverse=True)
        return next(named, next(iter(latest), None))


def main_key(span: Digest) -> str:
    """Return the key of the loop that a sub-agent without a span of its own belongs to."""
    return span.trace or f"log-{span.session or span.home}-{span.prompt}"


def _hands_over(use: ToolUse, agent: str) -> bool:
    """Return whether a tool hands the run over to an agent, by its name."""
    span = use.span.name if use.span is not None else ""
    plain = agent.lower().replace(" ", "_")
    return bool(agent) and (
        span.lower() in (f"handoff to {agent.lower()}", f"handoff: {agent.lower()}")
        or use.name.lower() == f"transfer_to_{plain}"
    )


def _is_transfer(use: ToolUse) -> bool:
    """Return whether a tool hands the run over to some agent."""
    span = use.span.name if use.span is not None else ""
    return span.lower().startswith("handoff") or use.name.lower().startswith("transfer_to_")


def _transfer(loop: LoopPlan, to: LoopPlan) -> ToolUse | None:
    """Return the last call before a loop that handed over to some agent, with the name in its arguments."""
    uses = [use for use in loop.tools if use.name == _TRANSFER and use.end <= to.start]
    return max(uses, key=lambda use: use.end, default=None)


def _transferred_at(to: LoopPlan) -> Callable[[LoopPlan], int]:
    def at(loop: LoopPlan) -> int:
        use = _transfer(loop, to)
        return use.end if use is not None else 0

    return at


def _descends(loop: LoopPlan, ancestor: LoopPlan) -> bool:
    above: LoopPlan | None = loop
    while above is not None:
        if above is ancestor:
            return True
        above = above.parent
    return False


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

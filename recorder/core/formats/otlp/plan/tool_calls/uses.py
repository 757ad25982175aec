"""The tool calls of a loop, to be found by what tells that they started another loop."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence

from recorder.core.formats.otlp.plan.loops import LoopPlan, ToolUse
from recorder.core.formats.otlp.spans.digest import Digest

_TRANSFER = "transfer_to_agent"  # Google ADK's tool
CHILDREN_MAX = 50  # calls that started one kind of sub-agent before another one that are looked at
_Name = tuple[str, str]  # what it is a name of, and the name


class Uses:
    """The tool calls of a loop in their order. Those that started a loop are free no longer."""

    def __init__(self, tools: Sequence[ToolUse]) -> None:
        self._by_span: dict[int, ToolUse] = {}
        self._first: dict[_Name, tuple[int, ToolUse]] = {}
        self._free: dict[_Name, deque[tuple[int, ToolUse]]] = defaultdict(deque)
        self._transfers: list[ToolUse] = []  # by their end
        self._children: dict[str, list[ToolUse]] = defaultdict(list)
        self._used: set[int] = set()
        self._number = 0
        for use in tools:
            self.add(use)

    def add(self, use: ToolUse) -> None:
        """Add a tool call behind the others."""
        self._number += 1
        for name in _names(use):
            self._first.setdefault(name, (self._number, use))
            self._free[name].append((self._number, use))
        if use.span is not None:
            self._by_span.setdefault(id(use.span), use)
            children = self._children[use.span.child]
            children.insert(bisect_right(children, use.start, key=_start), use)
        if use.name == _TRANSFER:
            self._transfers.insert(bisect_right(self._transfers, use.end, key=_end), use)

    def take(self, use: ToolUse | None) -> None:
        """Note that a tool call started a loop."""
        self._used.add(id(use))

    def of_span(self, span: Digest | None) -> ToolUse | None:
        """Return the tool call of a span."""
        return self._by_span.get(id(span))

    def named(self, agent: str) -> ToolUse | None:
        """Return the first free call that names an agent or hands over to it, else the first one."""
        free: list[tuple[int, ToolUse]] = []
        names = [("name", agent), *_handovers(agent)]
        for queue in (self._free[name] for name in names if name in self._free):
            while queue and id(queue[0][1]) in self._used:
                queue.popleft()
            free += [queue[0]] if queue else []
        found = free or [self._first[name] for name in names if name in self._first]
        return min(found, key=lambda each: each[0])[1] if found else None

    def hands_over(self, agent: str) -> bool:
        """Return whether a tool hands the run over to an agent, by its name."""
        return any(name in self._first for name in _handovers(agent))

    def transfer(self, until: int) -> ToolUse | None:
        """Return the last call until a time that handed over to some agent, named in its arguments."""
        before = bisect_right(self._transfers, until, key=_end)
        if not before:
            return None
        return self._transfers[bisect_left(self._transfers, self._transfers[before - 1].end, key=_end)]

    def of_sub_agent(self, plan: LoopPlan, owner: str) -> ToolUse | None:
        """Return the tool call that ran a sub-agent: the one around its start, else one with its id."""
        by_id = self._children.get(owner, [])
        for uses in (by_id, self._children.get(plan.name, [])):
            before = bisect_right(uses, plan.start, key=_start)
            for use in uses[max(0, before - CHILDREN_MAX) : before]:
                if plan.start <= use.end:
                    return use
        return next(iter(by_id), None)


def is_transfer(use: ToolUse) -> bool:
    """Return whether a tool hands the run over to some agent."""
    span = use.span.name if use.span is not None else ""
    return span.lower().startswith("handoff") or use.name.lower().startswith("transfer_to_")


def _names(use: ToolUse) -> Iterator[_Name]:
    yield "name", use.name
    yield "tool", use.name.lower()
    if use.span is not None:
        yield "span", use.span.name.lower()


def _handovers(agent: str) -> list[_Name]:
    """Return the names of tools that hand over to an agent."""
    if not agent:
        return []
    plain, lower = agent.lower().replace(" ", "_"), agent.lower()
    return [("span", f"handoff to {lower}"), ("span", f"handoff: {lower}"), ("tool", f"transfer_to_{plain}")]


def _start(use: ToolUse) -> int:
    return use.start


def _end(use: ToolUse) -> int:
    return use.end

"""Makes the tree of a session from its records. Pure.

Time: a node has the time in which none of its children ran, and the times of its children. What ran in
parallel counts each, so a session may have more time than passed on the clock.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dashboard.pages.flame.records import LoopRow, Records, Tool, TurnRow
from dashboard.pages.flame.tree import Amounts, Node, Place, parent
from recorder.core.ledger.blocks import KINDS

Spans = Sequence[tuple[int, int]]
WORDS = {
    "tool_definition": "Tool definition",
    "system": "System prompt",
    "compaction_summary": "Compaction summary",
    "user": "User",
    "assistant": "Earlier answers",
    "thinking": "Earlier thinking",
    "sub_agent_report": "Sub-agent report",
    "tool_result": "Result",
}


@dataclass(frozen=True, slots=True)
class _Built:
    """A node, and when it or a part of it ran."""

    node: Node
    spans: Spans


def tree(records: Records) -> Node:
    """Return the tree of a session."""
    return _Builder(records).session()


class _Builder:
    """Each loop is placed once: below the turn that called it, below its loop, or below the session."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._called: dict[int, list[LoopRow]] = defaultdict(list)
        for loop in records.loops.values():
            if loop.called_by is not None and loop.called_by[0] in records.loops:
                self._called[loop.called_by[0]].append(loop)
        self._placed: set[int] = set()

    def session(self) -> Node:
        loops = self._records.loops.values()
        roots = [
            loop for loop in loops if loop.called_by is None or loop.called_by[0] not in self._records.loops
        ]
        built = [self._loop(loop) for loop in roots]
        # Loops that call each other in a circle are below no root.
        built += [self._loop(loop) for loop in loops if loop.pk not in self._placed]
        spans = [span for each in built for span in each.spans]
        whole = [(min(s for s, _ in spans), max(e for _, e in spans))] if spans else []
        idle = _time("idle", "Between loops", _length(whole) - _length(spans))
        rest = _rest("undivided", "Evaluations", self._records.rest)
        return parent("session", "Session", "session", [*(each.node for each in built), *rest, *idle])

    def _loop(self, loop: LoopRow) -> _Built:
        self._placed.add(loop.pk)
        place = Place(loop.session, loop.pk)
        called = [child for child in self._called[loop.pk] if child.pk not in self._placed]
        turn_of = {tool.tool_call_id: turn.pk for turn in loop.turns for tool in turn.tools}
        below: dict[int | None, list[LoopRow]] = defaultdict(list)
        for child in called:
            below[turn_of.get(child.called_by[1] if child.called_by else "")].append(child)
        # In the order in which they were placed: a circle of calls is cut at its first loop.
        parts = [self._turn(turn, below[turn.pk], loop) for turn in loop.turns]
        parts += [self._loop(child) for child in below[None] if child.pk not in self._placed]
        inside = [span for part in parts for span in part.spans]
        own = [(loop.start, loop.end)] if loop.start is not None and loop.end is not None else []
        idle = _time("idle", "Waiting", _length([*own, *inside]) - _length(inside), place)
        children = [*(part.node for part in parts), *_rest("undivided", "Undivided", loop.rest, place), *idle]
        is_called = loop.called_by is not None
        kind = "sub-agent" if is_called else "loop"
        role = "" if loop.role in ("normal", "sub_agent") else loop.role
        name = " ".join(filter(None, (loop.agent or "Agent", role and f"({role})")))
        node = parent(kind, name, f"{kind}:{loop.role}:{loop.agent}", children, place=place)
        return _Built(node, [*own, *inside])

    def _turn(self, turn: TurnRow, called: Iterable[LoopRow], loop: LoopRow) -> _Built:
        place = Place(loop.session, loop.pk, turn.ordinal + 1)
        agents = [(child, self._loop(child)) for child in called if child.pk not in self._placed]
        spans_of: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for child, built in agents:
            spans_of[child.called_by[1] if child.called_by else ""] += built.spans
        tools, ran = _tools(turn.tools, spans_of, place)
        inside = [*ran, *(span for _, built in agents for span in built.spans)]
        own = [(turn.start, turn.end)]
        model = _time("model", "Model and waiting", _length([*own, *inside]) - _length(inside), place)
        children = [
            *self._context(turn, place),
            *_rest("output", "Output", turn.output, place),
            *tools,
            *(built.node for _, built in agents),
            *_rest("undivided", "Undivided", turn.undivided, place),
            *model,
        ]
        name = f"Turn {turn.ordinal + 1}"
        node = parent("turn", name, f"turn:{turn.ordinal}", children, place=place, turns=(turn.pk,))
        return _Built(node, [*own, *inside])

    def _context(self, turn: TurnRow, place: Place) -> Sequence[Node]:
        parts = self._records.parts.get(turn.pk)
        if not parts:
            return _rest("context", "Context", turn.context, place)
        ordered = sorted(
            parts, key=lambda part: (KINDS.index(part.kind), -part.cost, -part.tokens, part.name)
        )
        return [
            Node(
                kind=part.kind,
                name=f"{WORDS[part.kind]} {part.name}".strip(),
                key=f"{part.kind}:{part.name}",
                amounts=Amounts(part.cost, part.tokens),
                place=place,
            )
            for part in ordered
        ]


def _tools(
    tools: Sequence[Tool], agents: Mapping[str, Spans], place: Place
) -> tuple[Sequence[Node], list[tuple[int, int]]]:
    """Return the time of tools by name, without that of their sub-agents, and when they ran."""
    times: dict[str, int] = defaultdict(int)
    ran = []
    for tool in tools:
        if tool.start is None or tool.end is None:
            continue
        inside = agents.get(tool.tool_call_id, [])
        times[tool.name] += _length([(tool.start, tool.end), *inside]) - _length(inside)
        ran.append((tool.start, tool.end))
    nodes = [node for name, ms in times.items() for node in _time("tool", name or "Tool", ms, place)]
    return nodes, ran


def _time(kind: str, name: str, ms: int, place: Place | None = None) -> Sequence[Node]:
    key = f"tool:{name}" if kind == "tool" else kind
    return [Node(kind, name, key, Amounts(time=ms), place=place)] if ms > 0 else []


def _rest(kind: str, name: str, amounts: Amounts, place: Place | None = None) -> Sequence[Node]:
    return [Node(kind, name, kind, amounts, place=place)] if any(amounts) else []


def _length(spans: Spans) -> int:
    """Return the length of the union of spans."""
    length, reached = 0, None
    for start, end in sorted(spans):
        if reached is None or start > reached:
            length, reached = length + max(0, end - start), max(start, end)
        elif end > reached:
            length, reached = length + end - reached, end
    return length

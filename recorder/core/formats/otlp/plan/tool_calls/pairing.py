"""The calls of one answer, paired with the tools that ran them: by id, else by arguments, else by name.

An answer without ids asks for several calls of one tool at once, and they need not run in the order of the
answer. Calls that are equal in all this are paired in the order of the answer.

Cost: linear in the number of calls and tools.
"""

from __future__ import annotations

from collections import defaultdict, deque

from recorder.core.formats.otlp.plan.calls import Call, unnamed_place
from recorder.core.formats.otlp.spans.content.tools import plain_name
from recorder.core.formats.otlp.spans.digest import Digest

_ANY = "any"


class AskedCalls:
    """The tool calls of an answer, each of which is taken once."""

    def __init__(self, call: Call) -> None:
        self._names: dict[str, str] = {}
        self._free: set[str] = set()
        self._queues: dict[tuple[bool, str], deque[tuple[int, str]]] = defaultdict(deque)
        for place, ((call_id, name), ask) in enumerate(zip(call.calls, call.asks, strict=True)):
            self._names[call_id] = name
            self._free.add(call_id)
            for mark in (f"ask {ask}", f"name {plain_name(name)}", _ANY):
                self._queues[unnamed_place(call_id) is not None, mark].append((place, call_id))

    def take_id(self, call_id: str) -> bool:
        """Take the call with an id; return whether the answer has it."""
        self._free.discard(call_id)
        return call_id in self._names

    def take_equal(self, tool: Digest) -> tuple[str, str] | None:
        """Take a call with the name and the arguments of a tool; return its id and name."""
        return next(filter(None, (self._take(tool, f"ask {ask}") for ask in tool.asks)), None)

    def take_named(self, tool: Digest) -> tuple[str, str] | None:
        """Take a call of a tool's name, of a handoff any; return its id and name."""
        found = self._take(tool, f"name {plain_name(tool.name)}")
        return found or (self._take(tool, _ANY) if tool.name.lower().startswith("handoff") else None)

    def _take(self, tool: Digest, mark: str) -> tuple[str, str] | None:
        """Take the first free call with a mark; a tool with an id of its own takes one without."""
        queues = [self._queues[kind, mark] for kind in ((True,) if tool.call else (True, False))]
        for queue in queues:
            while queue and queue[0][1] not in self._free:
                queue.popleft()
        found = min((queue[0] for queue in queues if queue), default=None)
        if found is None:
            return None
        self._free.discard(found[1])
        return found[1], self._names[found[1]]

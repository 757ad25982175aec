"""The plan of a unit: its loops with their turns and tool calls, without content."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from recorder.core.formats.otlp.plan.calls import Call
from recorder.core.formats.otlp.spans.digest import Digest


@dataclass(slots=True, eq=False)
class ToolUse:
    """One execution of a tool: its span, or the result that the next model call was sent."""

    call: str
    name: str
    span: Digest | None = None
    source: Call | None = None  # the model call that was sent the result, or whose answer has it
    is_hosted: bool = False  # the provider ran it: the answer that asked for it has the result
    notes: list[Digest] = field(default_factory=list)
    wait: Digest | None = None  # the span of the time that it waited for a person
    has_failed: bool = False
    error: str = ""
    start: int = 0
    end: int = 0

    @property
    def decided(self) -> Digest | None:
        """Return the line that says how a person or a hook decided on the call, if one does."""
        lines = (*self.notes, self.wait, self.span)
        return next((each for each in lines if each is not None and each.decision), None)

    @property
    def was_refused(self) -> bool:
        """Return whether the call was not allowed to run."""
        return self.decided is not None and self.decided.decision[0] != "granted"


@dataclass(slots=True, eq=False)
class TurnPlan:
    """A model call with its failed attempts and its tools."""

    call: Call
    attempts: list[Call] = field(default_factory=list)
    tools: list[ToolUse] = field(default_factory=list)

    @property
    def open_calls(self) -> list[list[str]]:
        """Return the tool calls of the answer that nothing shows the execution of."""
        known = {tool.call for tool in self.tools}
        return [call for call in self.call.calls if call[0] not in known]


@dataclass(slots=True, eq=False)
class LoopPlan:
    """A loop: its agent span, if there is one, its turns, and the tool call that started it."""

    key: str
    trace: str
    agent: Digest | None = None  # the span that ends it
    host: Digest | None = None  # the tool whose own model calls it holds, without an agent span
    name: str = ""
    calls: list[Call] = field(default_factory=list)
    spans: list[Digest] = field(default_factory=list)  # of tools
    compactions: list[Digest] = field(default_factory=list)  # spans of them, of our own export
    turns: list[TurnPlan] = field(default_factory=list)
    early: list[ToolUse] = field(default_factory=list)  # tools before the first turn, or without any turn
    guardrails: list[Digest] = field(default_factory=list)  # those that blocked something
    parent: LoopPlan | None = None
    via: ToolUse | None = None
    start: int = 0
    is_closed: bool = False  # another prompt of its session follows
    is_bare: bool = False  # nothing marks its end but an answer without tool calls

    def all_spans(self) -> list[Digest]:
        """Return its model calls and tools, without the agent."""
        return [*(call.span for call in self.calls), *self.spans]

    def spans_of_turns(self) -> Iterator[tuple[Digest, int]]:
        """Yield the spans and log records of its model calls, each with the index of its turn."""
        for at, turn in enumerate(self.turns):
            yield from ((span, at) for call in (*turn.attempts, turn.call) for span in call.sources)

    @property
    def tools(self) -> list[ToolUse]:
        return [*self.early, *(tool for turn in self.turns for tool in turn.tools)]

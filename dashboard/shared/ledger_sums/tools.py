"""Costs of tools by their results, of the commands of shells, and of definitions never called. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dashboard.shared.ledger_sums.rows import Part, ToolCalls
from recorder.core.ledger.blocks import server_of

DEFINITION, COMMAND = "tool_definition", "command"
RESULTS = ("tool_result", "sub_agent_report")


@dataclass(slots=True)
class Tool:
    """The cost of the results of one tool in all calls that carried them."""

    kind: str
    name: str
    server: str
    results: int = 0
    result_tokens: int = 0
    carried_tokens: int = 0
    nano: int = 0
    failed: float | None = None  # share of its recorded calls in the sample
    commands: dict[str, Tool] = field(default_factory=dict)  # of a shell, by name

    def add(self, part: Part) -> None:
        """Add a sum of results."""
        self.results += part.blocks
        self.result_tokens += part.block_tokens
        self.carried_tokens += part.tokens
        self.nano += part.nano

    @property
    def tokens_each(self) -> int | None:
        return round(self.result_tokens / self.results) if self.results else None

    @property
    def turns_carried(self) -> float | None:
        """Return the turns that carried a token of a result, on average."""
        return self.carried_tokens / self.result_tokens if self.result_tokens else None

    @property
    def nano_each(self) -> int | None:
        return round(self.nano / self.results) if self.results else None


class Command(NamedTuple):
    """A command of a shell: `sum.name` is the command, `sum.server` the shell.

    With `is_part` it is one of several of the program before it, which has their sum.
    """

    sum: Tool
    is_part: bool


@dataclass(slots=True)
class Unused:
    """Definitions of one server, or of one tool, that were sent and never called by the same agent."""

    name: str
    server: str
    tools: set[str] = field(default_factory=set)
    agents: set[str] = field(default_factory=set)
    tokens: int = 0  # of one turn
    turns: int = 0  # turns that carried the results
    carried_tokens: int = 0
    nano: int = 0


def tools_of(parts: Iterable[Part], called: Iterable[ToolCalls]) -> list[Tool]:
    """Return the tools whose results were sent, the dearest first."""
    tool_of: dict[tuple[str, str, str], Tool] = {}
    for part in parts:
        if part.kind in RESULTS:
            server = server_of(part.name)
            key = part.kind, part.name, server
            tool = tool_of.setdefault(key, Tool(*key))
            tool.add(part)
            if part.server and not server:
                command = Tool(COMMAND, part.server, part.name)
                tool.commands.setdefault(part.server, command).add(part)
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for calls in called:
        counts[calls.name][0] += calls.calls
        counts[calls.name][1] += calls.failed
    for tool in tool_of.values():
        if tool.name in counts:
            tool.failed = counts[tool.name][1] / counts[tool.name][0]
    return by_cost(tool_of.values())


def commands_of(tools: Iterable[Tool]) -> list[Command]:
    """Return the commands of shells, the dearest first; several of one program follow their sum."""
    programs: dict[tuple[str, str], list[Tool]] = defaultdict(list)
    for tool in tools:
        for name, command in tool.commands.items():
            programs[tool.name, name.partition(" ")[0]].append(command)
    joined = {id(whole := _sum_of_commands(key, parts)): (whole, parts) for key, parts in programs.items()}
    rows = []
    for whole in by_cost(whole for whole, _ in joined.values()):
        _, parts = joined[id(whole)]
        is_alone = len(parts) == 1
        rows.append(Command(parts[0] if is_alone else whole, is_part=False))
        rows += [Command(part, is_part=True) for part in by_cost(parts) if not is_alone]
    return rows


def _sum_of_commands(key: tuple[str, str], commands: Sequence[Tool]) -> Tool:
    shell, program = key
    whole = Tool(COMMAND, program, shell)
    for name in ("results", "result_tokens", "carried_tokens", "nano"):
        setattr(whole, name, sum(getattr(command, name) for command in commands))
    return whole


def by_cost(tools: Iterable[Tool]) -> list[Tool]:
    """Return tools or commands, the dearest first."""
    return sorted(tools, key=lambda tool: (-tool.nano, -tool.carried_tokens, tool.name, tool.server))


def unused_of(parts: Sequence[Part], called: Iterable[ToolCalls]) -> list[Unused]:
    """Return the definitions without a result in the period or a call in the sample, the dearest first."""
    used = {(part.agent, part.name) for part in parts if part.kind in RESULTS and part.blocks}
    used |= {(calls.agent, calls.name) for calls in called}
    unused: dict[tuple[str, str], Unused] = {}
    turns: dict[tuple[str, str], dict[tuple[str, str], int]] = defaultdict(lambda: defaultdict(int))
    sizes: dict[tuple[str, str], dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for part in parts:
        if part.kind != DEFINITION or not part.name or (part.agent, part.name) in used:
            continue
        key = ("", part.server) if part.server else (part.name, "")
        group = unused.setdefault(key, Unused(*key))
        group.tools.add(part.name)
        group.agents.add(part.agent)
        group.carried_tokens += part.tokens
        group.nano += part.nano
        turns[key][part.agent, part.name] += part.calls
        sizes[key][part.name][0] += part.tokens
        sizes[key][part.name][1] += part.calls
    for key, group in unused.items():
        group.tokens = sum(round(tokens / calls) for tokens, calls in sizes[key].values() if calls)
        group.turns = sum(_most(turns[key], agent) for agent in group.agents)
    return sorted(unused.values(), key=lambda row: (-row.nano, -row.carried_tokens, row.server, row.name))


def _most(turns: Mapping[tuple[str, str], int], agent: str) -> int:
    """Return the turns of an agent that carried at least the tool that most of them did."""
    return max(count for (of, _), count in turns.items() if of == agent)

"""The cost of the definitions of tools sent in a scope, from the sums of the ledger. One query."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Sum

from dashboard.shared.what_if.scope import Scope
from recorder.ledger.sums import NO_PART
from recorder.models import LedgerSum

RESULTS = ("tool_result", "sub_agent_report")


@dataclass(frozen=True, slots=True)
class Definition:
    """The definition of one tool, or all definitions of an MCP server. Tokens are those of all calls."""

    name: str  # "" for a whole server
    server: str
    calls: int  # of models, that it was sent in; of a server, of its tool that was sent most often
    tokens: int
    cost_nano: int
    used: int  # results of the tool, or of the server's tools


@dataclass(frozen=True, slots=True)
class Definitions:
    """The definitions of a scope, servers first, each by cost; the ledger's cost of all its calls."""

    found: Sequence[Definition]
    cost_nano: int
    is_empty: bool  # the ledger has nothing of the scope


def definitions_of(scope: Scope) -> Definitions:
    """Return every definition that was sent."""
    named = LedgerSum.objects.filter(scope.sums()).exclude(kind__in=NO_PART)
    sums = ("calls", "tokens", "cost_nano", "blocks")
    of_each = named.values_list("kind", "name", "server").order_by()
    rows = list(of_each.annotate(**{f"all_{name}": Sum(name) for name in sums}))
    used: dict[str, int] = defaultdict(int)
    for kind, name, _, _, _, _, blocks in rows:
        used[name] += blocks if kind in RESULTS else 0
    tools = [
        Definition(name, server, calls, tokens, nano, used[name])
        for kind, name, server, calls, tokens, nano, _ in rows
        if kind == "tool_definition"
    ]
    by_cost = [*_by_cost(_servers(tools)), *_by_cost(tools)]
    return Definitions(by_cost, sum(row[5] for row in rows), not rows)


def _servers(tools: Sequence[Definition]) -> list[Definition]:
    of_server: dict[str, list[Definition]] = defaultdict(list)
    for tool in tools:
        if tool.server:
            of_server[tool.server].append(tool)
    return [
        Definition(
            "",
            server,
            max(tool.calls for tool in tools_of),
            sum(tool.tokens for tool in tools_of),
            sum(tool.cost_nano for tool in tools_of),
            sum(tool.used for tool in tools_of),
        )
        for server, tools_of in of_server.items()
    ]


def _by_cost(definitions: Sequence[Definition]) -> list[Definition]:
    return sorted(definitions, key=lambda tool: (-tool.cost_nano, -tool.tokens, tool.server, tool.name))

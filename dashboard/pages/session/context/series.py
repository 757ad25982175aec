"""Tokens of each call of the film by kind of block, by tool, or by price. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.pages.session.context.queries import Reading
from dashboard.shared.ledger.queries.session_ledger import CallRow
from recorder.core.ledger.blocks import KINDS

TOOLS = 7  # with a series of their own: those with the most tokens
RESULTS = ("tool_result", "sub_agent_report")
NAMES = {
    "tool_definition": "tool definitions",
    "system": "system",
    "compaction_summary": "compaction summary",
    "user": "user",
    "assistant": "assistant",
    "thinking": "thinking",
    "sub_agent_report": "sub-agent report",
    "tool_result": "tool results",
}
PRICES = (
    ("read from cache", "film-read", "cache_read"),
    ("written to cache", "film-write", "cache_write"),
    ("uncached", "film-uncached", "uncached"),
)


@dataclass(frozen=True, slots=True)
class Series:
    """One part of the bars. `kind` and `q` filter the block ledger to its blocks."""

    name: str
    css: str
    values: Sequence[int]
    kind: str = ""
    q: str = ""


def series_of(reading: Reading, first: int, count: int) -> list[Series]:
    """Return the series of `count` calls from the index `first`, from the axis up, without empty ones."""
    calls = reading.ledger.calls[first : first + count]
    if reading.params.by == "price":
        stacked = [Series(name, css, [getattr(call, field) for call in calls]) for name, css, field in PRICES]
    elif reading.params.by == "tool":
        stacked = _by_tool(reading, calls, first)
    else:
        stacked = [
            Series(NAMES[kind], f"block-{kind}", [call.kinds.get(kind, 0) for call in calls], kind)
            for kind in KINDS
        ]
    return [series for series in stacked if any(series.values)]


def _by_tool(reading: Reading, calls: Sequence[CallRow], first: int) -> list[Series]:
    """Return the results of the largest tools, of the others, and what is no result."""
    by_name = _tokens_by_tool(reading)
    sums = {name: sum(values) for name, values in by_name.items()}
    largest = sorted(sums, key=lambda name: (-sums[name], name))
    end = first + len(calls)
    named = {name: by_name[name][first:end] for name in largest[:TOOLS]}
    others = [sum(by_name[name][n] for name in largest[TOOLS:]) for n in range(first, end)]
    results = [sum(by_name[name][n] for name in largest) for n in range(first, end)]
    rest = [max(0, sum(call.kinds.values()) - of) for call, of in zip(calls, results, strict=True)]
    return [
        Series("no tool result", "block-tool_definition", rest),
        Series("results of other tools", "others", others, "tool_result"),
        *(
            Series(name, f"config-{slot}", values, q=name)
            for slot, (name, values) in reversed(list(enumerate(named.items(), start=1)))
        ),
    ]


def _tokens_by_tool(reading: Reading) -> dict[str, list[int]]:
    """Return the tokens of the results of each tool in each call.

    Cost: the blocks, and the calls times the tools.
    """
    calls = reading.ledger.calls
    steps: dict[tuple[int, str], dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for block in reading.ledger.blocks:
        if block.kind in RESULTS:
            of = steps[block.chain, block.name or "unnamed"]
            of[block.first] += block.tokens
            of[block.last + 1] -= block.tokens
    tokens: dict[str, list[int]] = defaultdict(lambda: [0] * len(calls))
    for (chain, name), changes in steps.items():
        values, now, at = tokens[name], 0, sorted(changes)
        step = 0
        for n, call in enumerate(calls):
            while step < len(at) and at[step] <= call.number:
                now += changes[at[step]]
                step += 1
            if call.chain == chain:
                values[n] += now
    return tokens

"""System prompts and tools of the first recorded requests, and where they differ. Pure.

A request is phi-core's annotated payload: `system_prompt`, or its parts in `system`, and `tools` as
definitions with a name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from dashboard.comparison.config_differences import NO_VALUE, Difference, Value
from dashboard.shared.config_diff import Setting
from recorder.core.content.text import clean, excerpt
from recorder.core.ledger.blocks import system_texts
from recorder.core.records import Json

SHOWN = 240  # characters of a system prompt
BEFORE = 60  # of these before the first difference
TOOLS = 40  # names of tools
PROMPT, OFFERED = "System prompt", "Tools"


@dataclass(frozen=True, slots=True)
class Request:
    """The system prompt and the tools of a request; `missing` says why they are unknown."""

    prompt: str = ""
    tools: Mapping[str, Json] = field(default_factory=dict)  # definitions by name
    url: str = ""  # of its event
    missing: str = ""


def read_request(event: Mapping[str, Json], url: str) -> Request | None:
    """Return the request of a `TurnRequest`; fields of unknown types are left out.

    None for another line, and for a request that is marked as not exact and has neither of the two.
    """
    payload = event.get("payload")
    if event.get("type") != "TurnRequest" or not isinstance(payload, dict):
        return None
    prompt, tools = "\n\n".join(system_texts(payload)), payload.get("tools")
    if payload.get("is_exact") is False and not prompt and not tools:
        return None
    return Request(
        prompt=clean(prompt).strip(),
        tools=dict(map(_definition, tools)) if isinstance(tools, list) else {},
        url=url,
    )


def request_differences(
    requests: Sequence[Request | None],
) -> tuple[Sequence[Difference], Sequence[Setting]]:
    """Return what differs and what is equal; a column without a known request is not compared."""
    whole = [request for request in requests if request and not request.missing]
    if not whole:
        return [], []
    base, start = whole[0], _start({request.prompt for request in whole})

    def prompt(request: Request) -> str:
        return _prompt(request.prompt, start)

    def tools(request: Request) -> str:
        return _tools(request.tools, base.tools)

    differing, equal = [], []
    if any(request.prompt != base.prompt for request in whole):
        differing.append(_row(PROMPT, requests, prompt, [request.prompt != base.prompt for request in whole]))
    elif base.prompt:
        equal.append(Setting("system_prompt", PROMPT, prompt(base)))
    if any(request.tools != base.tools for request in whole):
        differing.append(_row(OFFERED, requests, tools, [request.tools != base.tools for request in whole]))
    elif base.tools:
        equal.append(Setting("tools", OFFERED, tools(base)))
    return differing, equal


def _row(
    words: str, requests: Sequence[Request | None], text: Callable[[Request], str], odd: Sequence[bool]
) -> Difference:
    """Return a row; `odd` says for each known request whether it differs from the first one."""
    values, is_odd = [], iter(odd)
    for request in requests:
        if request is None or request.missing:
            values.append(Value(request.missing if request else "", is_odd=False))
        else:
            values.append(Value(text(request), next(is_odd), request.url))
    return Difference(words, values)


def _definition(tool: Json) -> tuple[str, Json]:
    """Return name and definition; OpenAI nests both in `function`."""
    fields = tool if isinstance(tool, dict) else {}
    nested = fields.get("function")
    name = (nested if isinstance(nested, dict) else fields).get("name")
    return clean(name, 200) if isinstance(name, str) and name else "unnamed", tool


def _start(prompts: Collection[str]) -> int:
    """Return where the excerpts of prompts begin: somewhat before the first difference."""
    if len(prompts) < 2:
        return 0
    first, last = min(prompts), max(prompts)
    common = _common_length(first, last)
    if common < SHOWN // 2:
        return 0
    space = first.find(" ", common - BEFORE, common)  # begin with a whole word
    return common - BEFORE if space < 0 else space + 1


def _common_length(one: str, other: str) -> int:
    """Return the length of the common prefix: a binary search, which compares long texts at once."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _prompt(prompt: str, start: int) -> str:
    shown = excerpt(prompt[start:], SHOWN)
    return f"{'…' if start else ''}{shown}" if prompt else NO_VALUE


def _tools(tools: Mapping[str, Json], base: Mapping[str, Json]) -> str:
    """Return the names of tools; those that the base defines in another way are marked."""
    names = [
        f"{name} (other definition)" if name in base and base[name] != tool else name
        for name, tool in sorted(tools.items())
    ]
    more = [f"and {len(names) - TOOLS:,} more"] if len(names) > TOOLS else []
    return ", ".join([*names[:TOOLS], *more]) or NO_VALUE

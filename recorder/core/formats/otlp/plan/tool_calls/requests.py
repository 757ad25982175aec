"""Tool calls as the server of a tool sees them, in a trace of its own.

The Model Context Protocol need not pass on the trace of the client.

The call of the server lies within that of the client, or nearly: by so much as two clocks differ. They are
one if they have the session and the id of a request of the protocol, or are of one session and have one
call id, or one name and arguments. A call has one server.

Cost: nearly linear in the number of tool spans; of those with one name and arguments at one time `AROUND_MAX`
are looked at.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice

from recorder.core.formats.otlp.plan.by_time import ByTime
from recorder.core.formats.otlp.plan.calls import SKEW_NS, are_apart
from recorder.core.formats.otlp.plan.calls_of_notes import AROUND_MAX
from recorder.core.formats.otlp.spans.digest import Digest

_WINDOW_NS = 10_000_000_000
_WINDOWS = 60  # of a span that have a name each: of a longer one the first


def names_of(tool: Digest) -> Iterator[str]:
    """Yield names by which the tools of two traces are read together: they have one in common."""
    if tool.request_id:
        yield tool.request_id
    first, last = tool.start // _WINDOW_NS, (tool.end + SKEW_NS) // _WINDOW_NS
    for mark in _marks(tool):
        yield from (f"{mark} {window}" for window in range(first, min(last + 1, first + _WINDOWS)))


def pairs(tools: Iterable[Digest]) -> Iterator[tuple[Digest, Digest]]:
    """Yield the root span of a server with the tool span of another trace that is the same call."""
    by_mark: dict[str, list[Digest]] = defaultdict(list)
    for tool in sorted(tools, key=lambda tool: (tool.start, -tool.end, tool.trace, tool.id)):
        for mark in (tool.request_id, *_marks(tool)):
            by_mark[mark].append(tool)
    by_mark.pop("", None)
    taken: set[int] = set()
    for spans in by_mark.values():
        servers = [span for span in spans if span.is_mcp and not span.parent]
        if not servers or len(spans) == 1:
            continue
        around = ByTime(spans, lambda span: span)
        for server in servers:
            near = islice(around.between(server.end - SKEW_NS, server.start + SKEW_NS), AROUND_MAX)
            fitting = (each for each in near if id(each) not in taken and _is_call_of(each, server))
            if id(server) not in taken and (call := next(fitting, None)) is not None:
                taken |= {id(server), id(call)}
                yield server, call


def _is_call_of(call: Digest, server: Digest) -> bool:
    lasts = call.end - call.start, server.end - server.start
    is_server = call.is_mcp and not call.parent  # or a client without an agent, if both have one request
    if is_server and not (call.request_id and call.request_id == server.request_id):
        return False
    return call.trace != server.trace and lasts[0] >= lasts[1] and not are_apart(call, server)


def _marks(tool: Digest) -> list[str]:
    """Return what the calls of a client and a server in one session have equal."""
    if not tool.session:
        return []
    marks = [f"call {tool.call}"] if tool.call else []
    return [f"{mark} session {tool.session}" for mark in (*marks, *(f"ask {ask}" for ask in tool.asks))]

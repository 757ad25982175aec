"""Loops and calls of sessions, in the form that context chains need."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from dashboard.compaction_analysis.context_chain import ContextChain, Loop
from dashboard.compaction_analysis.payback import Call
from recorder.models import LoopRecord, Price, Turn
from recorder.pricing.price_book import bands_of

_LOOP = (
    *(
        "pk",
        "session_id",
        "parent_id",
        "group_id",
        "branch_index",
        "role",
        "continuation_kind",
        "is_selected",
    ),
    *("agent_id", "loop_id", "title", "config_id", "turns", "cost_nano", "unpriced"),
)
_CALL = (
    *("pk", "loop_id", "ordinal", "start_event", "request_event", "end_event", "uncached_tokens"),
    *("cache_read_tokens", "cache_write_tokens", "cache_write_1h_tokens", "state", "price_id"),
)


def context_chains(sessions: Collection[int]) -> Mapping[int, ContextChain]:
    """Return the context chain of each session. One query."""
    loops: dict[int, list[Loop]] = defaultdict(list)
    for columns in LoopRecord.objects.filter(session__in=sessions).values_list(*_LOOP):
        loop = Loop(*columns)
        loops[loop.session_id].append(loop)
    return {session: ContextChain(session_loops) for session, session_loops in loops.items()}


def calls_of(loops: Collection[int]) -> Mapping[int, Sequence[Call]]:
    """Return the calls of loops. Two queries."""
    rows = list(Turn.objects.filter(loop__in=loops).order_by("loop", "ordinal").values_list(*_CALL))
    bands = {pk: bands_of(stored) for pk, stored in _bands({row[-1] for row in rows if row[-1]})}
    calls: dict[int, list[Call]] = defaultdict(list)
    for pk, loop, nth, start, request, end, uncached, read, write, hour, state, price in rows:
        counts = (uncached, read, write, hour)
        calls[loop].append(Call(pk, loop, nth, start, request, end, *counts, state, bands.get(price, ())))
    return calls


def _bands(prices: Collection[int]) -> Iterable[tuple[int, Any]]:
    return Price.objects.filter(pk__in=prices).values_list("pk", "bands")

"""Queries on a phi-core Session object, whose loops form a forest."""

from __future__ import annotations

from recorder.core.phi_session.schema import LoopObject, ParallelGroupObject, SessionObject, UsageObject


def root_loops(session: SessionObject) -> list[LoopObject]:
    """Return the loops that continue no other loop of the session."""
    ids = {loop["loop_id"] for loop in session["loops"]}
    return [loop for loop in session["loops"] if loop["parent_loop_id"] not in ids]


def children_of(session: SessionObject, loop_id: str) -> list[LoopObject]:
    """Return the loops that continue this one."""
    return [
        loop for loop in session["loops"] if loop["parent_loop_id"] == loop_id and loop["loop_id"] != loop_id
    ]


def parallel_siblings(session: SessionObject, loop_id: str) -> list[LoopObject]:
    """Return the other branches of the group that the last run of this loop belongs to."""
    groups = [loop["parallel_group"] for loop in session["loops"] if loop["loop_id"] == loop_id]
    group = groups[-1] if groups else None
    if group is None:
        return []
    return [
        loop
        for loop in session["loops"]
        if loop["loop_id"] != loop_id and _is_same_group(loop["parallel_group"], group)
    ]


def loop_chain_to(session: SessionObject, loop_id: str) -> list[LoopObject]:
    """Return the ancestors of a loop from its root on, and the loop; a cycle is followed once."""
    by_id = {loop["loop_id"]: loop for loop in session["loops"]}
    chain: list[LoopObject] = []
    step: str | None = loop_id
    while step is not None and (loop := by_id.pop(step, None)) is not None:
        chain.append(loop)
        step = loop["parent_loop_id"]
    return chain[::-1]


def total_usage(session: SessionObject) -> UsageObject:
    """Return the sum over the loops. A judge is a loop, so evaluation usage is not added."""
    used = [loop["usage"] for loop in session["loops"]]
    return {
        "input": sum(u["input"] for u in used),
        "output": sum(u["output"] for u in used),
        "reasoning": sum(u["reasoning"] for u in used),
        "cache_read": sum(u["cache_read"] for u in used),
        "cache_write": sum(u["cache_write"] for u in used),
        "total_tokens": sum(u["total_tokens"] for u in used),
    }


def _is_same_group(group: ParallelGroupObject | None, other: ParallelGroupObject) -> bool:
    return group is not None and group["all_loop_ids"] == other["all_loop_ids"]

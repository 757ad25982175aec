"""Procedures: sequences of steps that a loop repeats."""

from __future__ import annotations

from collections.abc import Sequence

from recorder.core.insights.findings import Finding
from recorder.core.insights.tool_steps import Call, group_steps

SHORTEST, LONGEST = 2, 5  # steps
MOST = 500  # different procedures of one loop


def procedures(agent_id: str, calls: Sequence[Call]) -> list[Finding]:
    """Return each sequence of 2 to 5 different steps, with the number of its occurrences without overlap.

    Time is linear in the number of calls.
    """
    steps = list(group_steps(calls))
    found: dict[tuple[str, ...], Finding] = {}
    free: dict[tuple[str, ...], int] = {}  # the first step where the next occurrence may start
    for at in range(len(steps)):
        for size in range(SHORTEST, LONGEST + 1):
            part = steps[at : at + size]
            names = tuple(run.step for run in part)
            if len(part) < size or len(set(names)) < size:
                break
            if free.get(names, 0) > at or (names not in found and len(found) >= MOST):
                continue
            free[names] = at + size
            first, last = part[0].calls[0], part[-1].calls[-1]
            each = found.setdefault(names, Finding("procedure", agent_id, names, events=[first.start]))
            each.count(
                worked=all(run.is_done for run in part), began_at=first.started_at, ended_at=last.ended_at
            )
    return list(found.values())

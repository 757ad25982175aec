"""Calls of other models within one answer: of an advisor, or attempts that a fallback replaced.

Each gets a turn behind that of the answer, once that has ended. The turn of the answer can then not go on: a
further line of it begins another turn, with usage that is counted already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from recorder.core.formats.base import Fields

if TYPE_CHECKING:
    from recorder.core.formats.transcripts.open_loop import OpenLoop

_OF_ANSWER = ("stop", "text", "result_at", "model", "provider", "at")


def note(loop: OpenLoop, calls: list[Fields]) -> None:
    """Set the calls within the open answer, each with `model`, `provider` and `usage`."""
    if loop.key != loop.settled:
        loop.others = list(calls)


def written(loop: OpenLoop, key: str, at: str) -> list[Fields]:
    """Return the events of the calls within the answer `key`, which has ended and stays the last one."""
    if not loop.others:
        return []
    calls, loop.others, loop.settled = cast("list[Fields]", loop.others), [], key
    kept = {name: getattr(loop, name) for name in _OF_ANSWER}
    events: list[Fields] = []
    for place, each in enumerate(calls):
        usage, model = cast("dict[str, int]", each["usage"]), str(each["model"])
        head = f"{key} {place}", loop.answered_at or at, usage
        events += loop.call(*head, model=model, provider=str(each["provider"]))
    for name, value in kept.items():
        setattr(loop, name, value)
    return events

"""Usage of an answer that comes after its turn has ended."""

from __future__ import annotations

from typing import cast

from recorder.core.formats.base import Fields
from recorder.core.formats.transcripts.open_loop import OpenLoop
from recorder.core.formats.transcripts.token_counts import COUNTS, usage_event
from recorder.core.records import Json


def add_to_total(loop: OpenLoop, found: dict[str, int]) -> None:
    """Add the usage of an earlier turn to that which the end of its loop states, also if it has ended."""
    loop.total = _sum(loop.total, found)
    if loop.ended is not None:
        ended = cast("Fields", loop.ended)
        total = _sum(cast("dict[str, int]", ended["total"]), found)
        loop.ended = ended | {"total": cast("Json", total)}


def _sum(total: dict[str, int], found: dict[str, int]) -> dict[str, int]:
    return {name: total.get(name, 0) + found.get(name, 0) for name in COUNTS}


def late_usage(loop_id: str, turn: int, found: dict[str, int], at: str, **head: str) -> Fields:
    """Return the event by which a turn that ended without usage gets it; `head` names the model."""
    return {
        "type": "UsageReported",
        "loop_id": loop_id,
        "turn_index": turn,
        "message": {"role": "assistant", "content": [], **head},
        "usage": cast("Json", usage_event(found)),
        "timestamp": at,
        "is_late": True,
    }

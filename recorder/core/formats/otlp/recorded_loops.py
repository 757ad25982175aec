"""What is recorded of a loop of spans, and how it goes on in place of its end. Pure.

Telemetry may come in parts: a loop ends, or its last turn does, as far as the spans so far show. When more of
it comes, what is recorded stays, and the loop goes on before its end or that of its last turn.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from recorder.core.formats.base import Fields
from recorder.core.formats.otlp.entry_prints import Prints
from recorder.core.formats.otlp.outline import Entry, runtime_of
from recorder.core.formats.otlp.plan.loops import LoopPlan


@dataclass(slots=True)
class RecordedLoop:
    """The events recorded for a loop: their session and number, a hash of their entries, its sub-agents."""

    session: str
    number: int
    print: str
    links: list[str] = field(default_factory=list)  # loops that it started
    ended: bool = False
    runtime: str = ""
    start: int = 0  # of the outermost loop above it, in nanoseconds since 1970
    open_print: str = ""  # of a loop that has ended with no call open: the hash of its entries but the end
    turn: int = 0  # index of the last turn
    turn_print: str = ""  # the hash of the entries before the end of the last turn, "" if it cannot go on
    tail: int = 0  # number of entries from that end on


class Reopened(NamedTuple):
    """A loop that goes on: its event without the ids, and how many of its entries are recorded then."""

    event: Fields
    number: int


def reopened_of(
    recorded: RecordedLoop, prints: Prints, entries: Sequence[Entry], links: Collection[str]
) -> Reopened | None:
    """Return how a loop goes on that has other entries in place of its recorded end; None if more changed.

    Its last turn goes on as well if its model call came before the tools that it asked for, and without its
    content. `links` are those to the loops that it started.
    """
    event: Fields = {"type": "LoopReopened"}
    if recorded.open_print and prints.begun_but_last == recorded.open_print:
        return Reopened(event, recorded.number - 1)
    number = recorded.number - recorded.tail
    if not recorded.turn_print or prints.begun_turn != recorded.turn_print:
        return None
    ends_again = any(entry.step == "turn_end" for entry in entries[number:])
    has_links = all(link in links for link in recorded.links)
    return Reopened(event | {"turn_index": recorded.turn}, number) if ends_again and has_links else None


def recorded_loop(
    plan: LoopPlan,
    entries: Sequence[Entry],
    prints: Prints,
    session: str,
    root: LoopPlan,
    before: RecordedLoop | None,
) -> RecordedLoop:
    """Return what is recorded of a loop when all its entries are; `before` is what was until then."""
    has_ended = entries[-1].step == "end"
    has_open_calls = has_ended and any(turn.open_calls for turn in plan.turns)
    may_reopen = prints.tail > 0 and not has_open_calls
    return RecordedLoop(
        *(session, len(entries), prints.whole, before.links if before is not None else []),
        ended=has_ended,
        runtime=runtime_of(root),
        start=root.start,
        open_print=prints.but_last if has_ended and not has_open_calls else "",
        turn=prints.turn,
        turn_print=prints.turn_print if may_reopen else "",
        tail=prints.tail if may_reopen else 0,
    )


def withdrawal(key: str, recorded: RecordedLoop) -> Fields:
    """Return the event that withdraws a loop."""
    return {
        "type": "LoopWithdrawn",
        "loop_id": key,
        "session_id": recorded.session,
        "sub_agents": len(recorded.links),
    }


def link_of(plan: LoopPlan) -> str:
    """Return what names the link from a tool call to the loop that it started."""
    return f"{plan.key} {plan.via.call if plan.via is not None else ''}"


def links_of(plans: Iterable[LoopPlan]) -> Mapping[str, set[str]]:
    """Return the links to the loops that each loop started."""
    found: dict[str, set[str]] = defaultdict(set)
    for plan in plans:
        if plan.parent is not None:
            found[plan.parent.key].add(link_of(plan))
    return found

"""The turns of a session, in any order, and those that one looks for first."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q, QuerySet

from dashboard.live.paged_list import Listing, listing
from dashboard.pages.calls.params import TURN_ERRORS, TURN_SORTS, Turns
from dashboard.shared.queries.costs import NOTHING, Cost
from dashboard.shared.queries.session_filter import TOKENS
from dashboard.web import links
from recorder.core.loop_tree import tree_order
from recorder.models import LoopRecord, Session, Turn

READ = (
    *("ordinal", "state", "model", "error", "started_at", "ended_at", "tool_calls", "tool_errors", "answer"),
    *("cost_nano", "unpriced", "cost_source", "agent_id", "loop__agent_id", "loop__session"),
)
JUMPS = {
    "-cost": ("Dearest turn", Q(cost_nano__isnull=False)),
    "-duration": ("Slowest turn", Q(ended_at__isnull=False)),
}  # with what those that have the figure have


@dataclass(frozen=True, slots=True)
class TurnRow:
    """One turn; `number` counts the turns of its session from 1, in order of recording."""

    number: int
    turn_of_loop: str  # its number in its loop, and the loop's number in the tree: "Turn 2 of loop 3"
    url: str
    agent: str
    model: str
    answer: str
    cost: Cost
    tokens: int
    started_at: datetime
    ended_at: datetime | None
    tools: int
    errors: int
    error: str


@dataclass(frozen=True, slots=True)
class TurnList:
    """A page of turns, with links to the turns that one looks for first."""

    rows: Sequence[TurnRow]
    listing: Listing
    jumps: Sequence[tuple[str, str]]


def session_of(project: int, pk: int) -> Session:
    """Return a session of the project. Raises Session.DoesNotExist."""
    return Session.objects.defer("formation", "summary").get(project=project, pk=pk)


def turn_list(slug: str, session: Session, address: Turns) -> TurnList:
    """Return a page of a session's turns. Nine queries at most, each over its turns or loops."""
    turns = of_session(session)
    found = listing(turns, address, address.order)
    numbered = turns.annotate(all_errors=TURN_ERRORS, all_tokens=TOKENS).select_related("loop").only(*READ)
    by_key = {turn.pk: turn for turn in numbered.filter(pk__in=found.pks)}
    keys, loops = keys_of(turns), _loop_numbers(session)
    shown = [turn for pk in found.pks if (turn := by_key.get(pk)) and turn.loop_id in loops]
    rows = [_row(slug, turn, keys, loops) for turn in shown]
    return TurnList(rows, found, list(_jumps(slug, turns)))


def nth(slug: str, session: Session, number: int) -> str | None:
    """Return the link to a session's turn by its number in order of recording, from 1; None without it."""
    found = of_session(session).order_by("pk").select_related("loop")
    turn = found.only(*READ)[number - 1 : number].first() if number > 0 else None
    return turn_url(slug, turn) if turn else None


def _jumps(slug: str, turns: QuerySet[Turn]) -> Sequence[tuple[str, str]]:
    rows = turns.select_related("loop").only(*READ)
    found = [(words, TURN_SORTS[sort].sort(rows.filter(has)).first()) for sort, (words, has) in JUMPS.items()]
    failed = rows.annotate(all_errors=TURN_ERRORS).filter(all_errors__gt=0)
    found.append(("First error", failed.order_by("pk").first()))
    return [(words, turn_url(slug, turn)) for words, turn in found if turn]


def of_session(session: Session) -> QuerySet[Turn]:
    """Return the turns of a session, unsorted."""
    return Turn.objects.filter(loop__session=session)


def keys_of(turns: QuerySet[Turn]) -> Sequence[int]:
    """Return the keys of turns in order of recording, as 8 bytes each. One query."""
    return array("q", turns.order_by("pk").values_list("pk", flat=True).iterator(chunk_size=2_000))


def number_of(turn: Turn, keys: Sequence[int]) -> int:
    """Return the number of a turn among the keys of its session, from 1; `nth` finds the turn by it."""
    return bisect_left(keys, turn.pk) + 1


def _loop_numbers(session: Session) -> Mapping[int, int]:
    """Return the number of each loop in the tree of the session, from 1. One query."""
    loops = LoopRecord.objects.filter(session=session).only("parent", "group", "branch_index")
    return {loop.pk: number for number, loop in enumerate(tree_order(loops), 1)}


def _row(slug: str, turn: Turn, keys: Sequence[int], loops: Mapping[int, int]) -> TurnRow:
    return TurnRow(
        number=number_of(turn, keys),
        turn_of_loop=f"Turn {turn.ordinal + 1:,} of loop {loops[turn.loop_id]:,}",
        url=turn_url(slug, turn),
        agent=turn.agent_id or turn.loop.agent_id,
        model=turn.model,
        answer=turn.answer,
        cost=NOTHING + turn,
        tokens=getattr(turn, "all_tokens"),  # noqa: B009  annotated above
        started_at=turn.started_at,
        ended_at=turn.ended_at,
        tools=turn.tool_calls,
        errors=getattr(turn, "all_errors"),  # noqa: B009  as above
        error=turn.error,
    )


def turn_url(slug: str, turn: Turn) -> str:
    """Return the place of a turn, with its loop, in its session."""
    number = turn.ordinal + 1
    return f"{links.loop(slug, turn.loop.session_id, turn.loop_id, turn=number)}#turn-{number}"

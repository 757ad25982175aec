"""The turns of a session, in any order, and those that one looks for first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q, QuerySet

from dashboard.live.paged_list import Listing, listing
from dashboard.pages.calls.params import TURN_ERRORS, TURN_SORTS, Turns
from dashboard.shared.queries.costs import NOTHING, Cost
from dashboard.shared.queries.session_filter import TOKENS
from dashboard.web import links
from recorder.models import Session, Turn

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
    """One turn; `number` counts the turns of its loop from 1."""

    number: int
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
    """Return a page of a session's turns. Seven queries at most, each over the turns of the session."""
    turns = of_session(session)
    found = listing(turns, address, address.order)
    numbered = turns.annotate(all_errors=TURN_ERRORS, all_tokens=TOKENS).select_related("loop").only(*READ)
    by_key = {turn.pk: turn for turn in numbered.filter(pk__in=found.pks)}
    rows = [_row(slug, by_key[pk]) for pk in found.pks if pk in by_key]
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


def _row(slug: str, turn: Turn) -> TurnRow:
    return TurnRow(
        number=turn.ordinal + 1,
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

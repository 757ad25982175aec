"""An agent's statements of the cost of a session, and the rest: the calls that its transcript leaves out.

A statement counts all calls of a session so far, those of its sub-agents and those without a line, such as
the ones that make a title or a summary. In a session that was forked it goes on from the last statement of
its origin before the fork. The rest is a loop of its own, which has the role `unlisted`.

Invariant: the calls of a session before its last statement, and the rest, add up to that statement. Only if
they are more already is there no rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, cast

from recorder.core.changes import CostStated
from recorder.core.context import NO_PLACEMENT, EventContext, Placement
from recorder.core.events import CostStated as Stated
from recorder.core.events.fields import parse_timestamp
from recorder.core.money.prices import parse_reported_cost
from recorder.core.records import Json, Loop, Role, Session

ROLE: Role = "unlisted"
TITLE = "Not in the transcript"
TOKENS = ("input", "output", "reasoning", "cache_read", "cache_write", "cache_write_1h")
STATEMENTS_MAX = 100  # of a session that are kept: a fork begins soon after one


class Figures(NamedTuple):
    """A cost in nano-dollars, and tokens in the order of `TOKENS`."""

    nano: int
    tokens: Sequence[int]

    def plus(self, other: Figures) -> Figures:
        """Return the sum."""
        return Figures(self.nano + other.nano, [*map(sum, zip(self.tokens, other.tokens, strict=True))])

    def minus(self, other: Figures) -> Figures:
        """Return the difference, of which no figure is negative."""
        tokens = [max(0, mine - theirs) for mine, theirs in zip(self.tokens, other.tokens, strict=True)]
        return Figures(max(0, self.nano - other.nano), tokens)


NOTHING = Figures(0, [0] * len(TOKENS))


class Statement(NamedTuple):
    """The spending at a time: after `after`, and before `until` unless nothing followed."""

    after: datetime
    until: datetime | None
    figures: Figures


class Statements(NamedTuple):
    """All statements about a session, in order, and where it was forked from."""

    origin: str  # the session; "": none
    began: datetime | None
    all: Sequence[Statement]
    recorded: Figures | None  # the sum of the calls before the last statement; None: not summed since it came

    @property
    def total(self) -> Figures:
        """All that was stated. Where a statement is below the one before it, the agent had begun anew."""
        whole, last = NOTHING, NOTHING
        for each in self.all:
            if each.figures.nano < last.nano:
                whole = whole.plus(last)
            last = each.figures
        return whole.plus(last)

    def before_fork(self, began: datetime | None) -> Figures:
        """Return the figures with which a fork begins that began at a time."""
        found = [each.figures for each in self.all if began is None or each.after <= began]
        return found[-1] if found else NOTHING


def state(context: EventContext, event: Stated) -> Placement:
    """Note a statement, or that one of another session changed."""
    session = context.state.sessions.get(event.session_id)
    if session is None:
        return NO_PLACEMENT
    nano = parse_reported_cost(event.cost)
    is_statement = event.usage is not None and event.at is not None and nano is not None
    if is_statement:
        session.stated = _with(session.stated, event, nano or 0)
        context.touch(session)
    change = CostStated(session)
    context.changes[change] = change
    return Placement(session) if is_statement else NO_PLACEMENT


def statements_of(stated: Json) -> Statements | None:
    """Return the statements that a session stores; None if there are none."""
    if not isinstance(stated, dict):
        return None
    rows = cast("list[list[Json]]", stated["all"])
    found = [
        Statement(at, _time(until), Figures(cast("int", nano), cast("list[int]", tokens)))
        for after, until, nano, tokens in rows
        if (at := _time(after)) is not None
    ]
    recorded = cast("list[Json] | None", stated.get("recorded"))
    sums = None if recorded is None else Figures(cast("int", recorded[0]), cast("list[int]", recorded[1:]))
    return Statements(str(stated["origin"]), _time(stated["began"]), found, sums)


def with_recorded(stated: Json, recorded: Figures) -> Json:
    """Return what a session stores, with the sum of its calls before the last statement."""
    assert isinstance(stated, dict)
    return stated | {"recorded": [recorded.nano, *recorded.tokens]}


def rest_loop(session: Session, producer: int, rest: Figures, at: datetime) -> Loop:
    """Return the loop of what a session cost beside the calls in its transcript."""
    loop = Loop(
        session=session,
        loop_id=f"{session.session_id}.{ROLE}",
        producer=producer,
        agent_id=session.agent_id,
        role=ROLE,
        status="completed",
        outcome="completed",
        title=TITLE,
        activity=TITLE,
        started_at=at,
        ended_at=at,
        last_event_at=at,
        is_one_call=True,
        cost_nano=rest.nano,
        cost_source="reported",
    )
    for name, count in zip(TOKENS, rest.tokens, strict=True):
        setattr(loop, f"{name}_tokens", count)
    loop.uncached_tokens = loop.input_tokens  # an agent that states costs counts cached tokens beside
    loop.reasoning_tokens = min(loop.reasoning_tokens, loop.output_tokens)
    loop.cache_write_1h_tokens = min(loop.cache_write_1h_tokens, loop.cache_write_tokens)
    loop.visible_tokens = loop.output_tokens - loop.reasoning_tokens
    return loop


def _with(stated: Json, event: Stated, nano: int) -> Json:
    """Return what a session stores with a further statement; one at the same time is replaced.

    The calls before the last statement are to be summed again.
    """
    known = stated if isinstance(stated, dict) else {"origin": "", "began": None, "all": []}
    counts: Json = [getattr(event.usage, name) for name in TOKENS]
    row: list[Json] = [_text(event.at), _text(event.ended_at), nano, counts]
    rows = [each for each in cast("list[list[Json]]", known["all"]) if each[0] != row[0]]
    return {
        "origin": event.parent_session_id or "",
        "began": _text(event.started_at),
        "all": cast("Json", sorted([*rows, row], key=lambda each: str(each[0]))[-STATEMENTS_MAX:]),
    }


def _text(at: datetime | None) -> Json:
    return None if at is None else at.isoformat(timespec="microseconds")


def _time(text: Json) -> datetime | None:
    return parse_timestamp(text) if isinstance(text, str) else None

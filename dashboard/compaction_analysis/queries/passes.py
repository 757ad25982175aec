"""Compactions on their context chain: calls before and after, savings and cost.

A compaction is placed by the event that ended it; calls are placed by their requests. `before` and `after`
are found by bisection in the calls of the chain; `after` ends at the next compaction on the same chain.
Cost: five queries for any number of compactions; memory grows with the calls of their chains (CHAIN_MAX
loops each way).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Left, Length

from dashboard.compaction_analysis.claim_check import Claim
from dashboard.compaction_analysis.context_chain import ContextChain, Loop
from dashboard.compaction_analysis.payback import Call, Payback, payback
from dashboard.compaction_analysis.queries.context_chain import calls_of, context_chains
from dashboard.shared.session_state import SHOWN as SESSION_STATE
from dashboard.shared.session_state import is_stale
from dashboard.web import links
from recorder.models import Compaction

CHAIN_MAX = 200  # loops of the chain on either side of a compaction
EXCERPT_MAX = 600  # characters of a summary on a card

_SHOWN = (
    *(
        "state",
        "messages_before",
        "messages_after",
        "tokens_before",
        "tokens_after",
        "loops_compacted",
        "content",
    ),
    *("started_at", "ended_at", "start_event", "end_event", "turn__ordinal", "turn__turn_index"),
    *(
        "loop__session__session_id",
        "loop__session__title",
        "loop__session__source",
        "loop__session__project__slug",
    ),
    *("loop__role", "loop__loop_id"),
    *(f"loop__session__{name}" for name in SESSION_STATE),
)


@dataclass(frozen=True, slots=True)
class CompactionEffect:
    """One compaction; root of the panel session/pass."""

    row: Compaction
    claim: Claim
    loop: Loop  # the loop that it is part of
    base: Loop  # the loop whose context it shortened
    next: Loop | None  # the loop that continues from it
    line: Sequence[int]  # loops, oldest first
    calls: Sequence[Call]  # of all these loops
    before: Call | None  # the last call before whose request is recorded, else the last
    first: Call | None  # the first call after it, chosen in the same way
    after: Sequence[Call]  # up to the next compaction
    position: int  # in recorded order
    drops: Sequence[int]  # positions of all compactions on the chain
    numbers: Mapping[int, int]  # of the session's loops
    merged: int | None  # the record of an imported block of this compaction
    payback: Payback

    @property
    def pk(self) -> int:
        return self.row.pk

    @property
    def state(self) -> str:
        """Return its state; one that runs in a stale session is stale."""
        is_silent = self.row.state == "running" and is_stale(self.row.loop.session)
        return "stale" if is_silent else self.row.state

    @property
    def slug(self) -> str:
        return self.row.loop.session.project.slug

    @property
    def url(self) -> str:
        return links.compaction(self.slug, self.base.session_id, self.pk)

    @property
    def loop_url(self) -> str:
        return links.loop(self.slug, self.loop.session_id, self.loop.id)

    @property
    def is_alone(self) -> bool:
        """Whether it is a loop of its own."""
        return self.loop.role == "compaction"

    @property
    def number(self) -> int:
        """Return the number of its loop in the tree of the session."""
        return self.numbers[self.base.id]

    @property
    def until(self) -> int | None:
        """Return the position of the next compaction."""
        return next((place for place in self.drops if place > self.position), None)

    @property
    def place(self) -> str:
        """Return its location as text: loop and turn."""
        if not self.is_alone:
            turn = self.row.turn
            return f"in loop {self.number}" + (f", turn {turn.ordinal + 1}" if turn else "")
        return f"before loop {self.numbers[self.next.id]}" if self.next else f"after loop {self.number}"

    @property
    def content(self) -> str:
        """Return the kind of its content as in the API: none, block, request, summary."""
        if self.row.content != "none":
            return self.row.content
        return "block" if self.merged else "none"

    @property
    def sent_before(self) -> int | None:
        """Return the tokens of the last request before, as counted by the provider."""
        return self.before.prompt if self.before else None

    @property
    def sent_after(self) -> int | None:
        return self.first.prompt if self.first else None

    @property
    def has_request_before(self) -> bool:
        return self.before is not None and self.before.request is not None

    @property
    def summary(self) -> str:
        """Return the beginning of its text."""
        return str(getattr(self.row, "summary_excerpt", ""))

    @property
    def summary_size(self) -> int:
        return int(getattr(self.row, "summary_length", 0) or 0)


def listed(project: int | None = None) -> QuerySet[Compaction]:
    """Return the compactions of a project, without imported blocks of a recorded compaction."""
    rows = (
        Compaction.objects.all()
        if project is None
        else Compaction.objects.filter(loop__session__project=project)
    )
    overlapping = _during(OuterRef("loop__session"), OuterRef("loop__loop_id"), OuterRef("ended_at"))
    return rows.exclude(Q(start_event__isnull=True, content="block") & Exists(overlapping))


def recorded(block: Compaction) -> int:
    """Return the recorded compaction that an imported block describes; the block itself if there is none."""
    overlapping = _during(block.loop.session_id, block.loop.loop_id, block.ended_at)
    return overlapping.order_by("pk").values_list("pk", flat=True).first() or block.pk


def _during(session: Any, loop_id: Any, at: Any) -> QuerySet[Compaction]:
    """Return the recorded compactions of a loop id that were running at a time."""
    ran = Compaction.objects.filter(loop__session=session, loop__loop_id=loop_id, start_event__isnull=False)
    return ran.filter(started_at__lte=at, ended_at__gte=at)


def shown(rows: QuerySet[Compaction]) -> QuerySet[Compaction]:
    """Select the shown columns, and only the beginning of texts, which can be megabytes."""
    related = rows.select_related("loop__session__project", "turn").only(*_SHOWN)
    return related.annotate(summary_excerpt=Left("summary", EXCERPT_MAX), summary_length=Length("summary"))


def passes(rows: Iterable[Compaction]) -> list[CompactionEffect]:
    """Return compactions in the order of `rows`. Five queries."""
    rows = list(rows)
    context = _PassContext(context_chains({row.loop.session_id for row in rows}), rows)
    return [context.build(row) for row in rows]


class _PassContext:
    """Chains, calls and positions for several compactions, read at once."""

    def __init__(self, chains: Mapping[int, ContextChain], rows: Sequence[Compaction]) -> None:
        self._chains = chains
        self._numbers = {session: chain.numbers for session, chain in chains.items()}
        self._lines = {row.pk: chains[row.loop.session_id].line(row.loop_id, CHAIN_MAX) for row in rows}
        self._calls = calls_of({loop for line in self._lines.values() for loop in line})
        self._places = _places(chains)
        self._merged = _imported_blocks(rows)

    def build(self, row: Compaction) -> CompactionEffect:
        chain, numbers = self._chains[row.loop.session_id], self._numbers[row.loop.session_id]
        line, position = self._lines[row.pk], _position(row)
        loop, base = chain.loops[row.loop_id], chain.base(row.loop_id)
        on_line, nth = set(line), line.index(base)
        places = ((chain.base(loop_pk), place) for loop_pk, place in self._places[row.loop.session_id])
        drops = sorted(place for loop_pk, place in places if loop_pk in on_line)
        until = next((place for place in drops if place > position), None)
        following = chain.loops[line[nth + 1]] if nth + 1 < len(line) else None
        calls = sorted(
            (call for loop_pk in line for call in self._calls[loop_pk]), key=lambda call: call.event
        )
        events = [call.event for call in calls]
        earlier = bisect_left(events, position)
        before = _first_with_request(calls[earlier - 1 :: -1] if earlier else ())
        after = calls[earlier : bisect_left(events, until) if until else None]
        claim = Claim(
            row.messages_before, row.messages_after, row.tokens_before, row.tokens_after, row.loops_compacted
        )
        pass_nano, has_effect = _own_cost(loop), not claim.is_without_effect
        return CompactionEffect(
            row=row,
            claim=claim,
            loop=loop,
            base=chain.loops[base],
            next=following,
            line=line,
            calls=calls,
            before=before,
            first=_first_with_request(after),
            after=after,
            position=position,
            drops=drops,
            numbers=numbers,
            merged=self._merged.get(row.pk),
            payback=payback(calls[:earlier], after, pass_nano, has_effect=has_effect),
        )


def _first_with_request(calls: Sequence[Call]) -> Call | None:
    return next((call for call in calls if call.request), calls[0] if calls else None)


def _position(row: Compaction) -> int:
    return row.end_event or row.start_event or 0


def _own_cost(loop: Loop) -> int | None:
    """Return the cost of a compaction loop; 0 within another loop, where it has no calls of its own."""
    if loop.role != "compaction":
        return 0
    return None if loop.unpriced else loop.cost_nano or 0


def _places(sessions: Collection[int]) -> Mapping[int, Sequence[tuple[int, int]]]:
    """Return loop and position of the compactions of each session."""
    positions: dict[int, list[tuple[int, int]]] = defaultdict(list)
    rows = listed().filter(loop__session__in=sessions)
    for session, loop, start, end in rows.values_list(
        "loop__session_id", "loop_id", "start_event", "end_event"
    ):
        positions[session].append((loop, end or start or 0))
    return positions


def _imported_blocks(rows: Sequence[Compaction]) -> Mapping[int, int]:
    """Return the imported block of each compaction."""
    blocks = Compaction.objects.filter(
        content="block",
        start_event__isnull=True,
        loop__session=OuterRef("loop__session"),
        loop__loop_id=OuterRef("loop__loop_id"),
        ended_at__gte=OuterRef("started_at"),
        ended_at__lte=OuterRef("ended_at"),
    )
    recorded_rows = Compaction.objects.filter(pk__in=[row.pk for row in rows], start_event__isnull=False)
    with_blocks = recorded_rows.annotate(block_pk=Subquery(blocks.order_by("pk").values("pk")[:1]))
    return {pk: block for pk, block in with_blocks.values_list("pk", "block_pk") if block}

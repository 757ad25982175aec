"""Queries of the tab Context: the ledger of a scope, and what belongs to it.

Cost: fifteen queries at most, and work in proportion to the calls and blocks of the session.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from django.db.models import QuerySet

from dashboard.live.cached_value import ProcessCache
from dashboard.pages.session.context_filters import ContextParams
from dashboard.shared.ledger.queries.session_ledger import CallRow, SessionLedger, session_ledger
from dashboard.web import links
from recorder.core.records import Json
from recorder.models import LedgerCall, LedgerGap, LoopRecord, ModelConfig, Session, ToolCall, Turn

SLOTS = 16  # colours of chains
CACHED_MOST, CACHED_S = 40_000, 60  # calls and blocks for the next requests, and for how long


def size(ledger: SessionLedger) -> int:
    """Return the number of calls and blocks."""
    return len(ledger.calls) + len(ledger.blocks)


LEDGERS = ProcessCache[SessionLedger](size, most=CACHED_MOST, seconds=CACHED_S)


@dataclass(frozen=True)
class Reading:
    """The ledger of one scope of a session. `windows` are the context windows of loops, in tokens."""

    session: Session
    loop: int  # of the page
    params: ContextParams
    ledger: SessionLedger
    loops: Mapping[int, int]  # loops with calls, numbered from 1 in recorded order
    pending: int  # ended calls of the session that are not in the ledger yet
    called: frozenset[str]  # names of tools that were called
    windows: Mapping[int, int]  # a loop whose config does not say it is missing

    def number(self, call: CallRow) -> int:
        """Return the number of a call: that of its turn within a loop, else that in the session."""
        return call.ordinal + 1 if self.params.scope else call.number

    def numbered(self, number: int) -> int:
        """Return what `number` returns for the call that the ledger of the scope numbers so."""
        return self.number(self.ledger.calls[number - 1])

    def url(self, **changes: str | int) -> str:
        """Return a link to this tab with some parameters changed."""
        pairs = self.params.pairs(**changes)
        return links.loop(self.session.project.slug, self.session.pk, self.loop, **pairs)

    @cached_property
    def chain_slots(self) -> Mapping[int, int]:
        """Return a colour from 1 for each chain, in the order of first calls."""
        chains = dict.fromkeys(call.chain for call in self.ledger.calls)
        return {chain: n % SLOTS + 1 for n, chain in enumerate(chains)}

    @cached_property
    def has_costs(self) -> bool:
        """Return whether a call has a cost that is divided; else carried tokens are shown."""
        return any(call.context_nano is not None for call in self.ledger.calls)

    @cached_property
    def unpriced(self) -> Sequence[str]:
        """Return the models of calls without a cost."""
        return sorted({call.model or "unnamed" for call in self.ledger.calls if call.cost_nano is None})

    @cached_property
    def without_cost(self) -> int:
        """Return how many calls have no cost: no price is known, or their counts do not add up."""
        return sum(call.cost_nano is None for call in self.ledger.calls)

    @cached_property
    def contradictory(self) -> int:
        """Return how many calls have no cost because their reported counts of tokens do not add up."""
        return sum(call.is_contradictory and call.cost_nano is None for call in self.ledger.calls)

    @cached_property
    def chosen(self) -> int:
        """Return the index of the chosen call: that of the URL, the dearest miss, or the last one."""
        calls = self.ledger.calls
        for n, call in enumerate(calls):
            if self.number(call) == self.params.turn:
                return n
        misses = self.ledger.misses
        return misses[0].number - 1 if misses and misses[0].lost_tokens else len(calls) - 1


def read(session: Session, loop: int, params: ContextParams) -> Reading:
    """Read a scope of a session, as of the event that its page is rendered for."""
    at = links.as_of_event()
    loops = _loops(session.pk, at)
    scope = [params.scope] if params.scope else None
    is_over = at is None and session.status != "running"
    pending = _pending(session.pk, at)

    def read_ledger() -> SessionLedger:
        return session_ledger(session.pk, as_of=at, loops=scope, is_over=is_over)

    key = (session.pk, at, params.scope, is_over)
    ledger = read_ledger() if pending else LEDGERS.get(session.project_id, key, read_ledger)
    return Reading(
        session,
        loop,
        params,
        ledger,
        loops,
        pending,
        _called_tools(session.pk),
        _windows({call.loop for call in ledger.calls}),
    )


def sessions(pks: Collection[int]) -> QuerySet[Session]:
    """Return sessions with their projects."""
    return Session.objects.filter(pk__in=pks).select_related("project")


def _loops(session: int, at: int | None) -> dict[int, int]:
    """Return the loops that have calls in the ledger, with their numbers in the order of first calls."""
    calls = LedgerCall.objects.filter(session=session)
    if at is not None:
        calls = calls.filter(end_event__lte=at)
    loops = dict.fromkeys(calls.order_by("end_event").values_list("loop", flat=True))
    return {loop: n for n, loop in enumerate(loops, start=1)}


def _pending(session: int, at: int | None) -> int:
    """Return the ended calls of a session that the ledger neither has nor has skipped."""
    ended = Turn.objects.filter(loop__session=session, state="done")
    kept = LedgerCall.objects.filter(session=session)
    gaps = LedgerGap.objects.filter(session=session)
    if at is not None:
        kept, gaps = kept.filter(end_event__lte=at), gaps.filter(end_event__lte=at)
    return max(0, ended.count() - kept.count() - gaps.count())


def _called_tools(session: int) -> frozenset[str]:
    calls = ToolCall.objects.filter(loop__session=session)
    return frozenset(calls.values_list("tool_name", flat=True).distinct())


def _windows(loops: set[int]) -> dict[int, int]:
    """Return the context windows of loops, in tokens, where their config says it."""
    configs = LoopRecord.objects.filter(pk__in=loops, config__isnull=False).values_list("pk", "config")
    of_loop = list(configs)
    rows = ModelConfig.objects.filter(pk__in={config for _, config in of_loop})
    snapshots: dict[object, Json] = {**dict(rows.values_list("pk", "snapshot"))}
    windows = {}
    for loop, config in of_loop:
        snapshot = snapshots.get(config)
        size = snapshot.get("context_window") if isinstance(snapshot, dict) else None
        if isinstance(size, int) and not isinstance(size, bool) and size > 0:
            windows[loop] = size
    return windows

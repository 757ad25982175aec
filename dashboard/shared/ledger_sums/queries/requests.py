"""The dearest requests of a project over whole days: the few that make 90 % of the cost, each with its cause.

How many they are follows from sums by class of cost. Only sessions that have requests of the dearest classes
are read, found by an index. Cost: eight queries, and the turns of at most `SESSIONS` sessions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

from django.db.models import BooleanField, QuerySet, Sum, Value
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce, NullIf

from dashboard.shared.ledger_sums.queries.sums import Scope
from recorder.core.ledger import cost_classes
from recorder.core.ledger.cost_classes import CostClass, Few
from recorder.core.ledger.costs import UNITS, lost
from recorder.ledger import costs
from recorder.ledger.costs import Cost
from recorder.ledger.sums import REQUEST
from recorder.models import LedgerCall, LedgerDay, LedgerSum, Session, Turn, happened

LISTED = 200  # requests
SESSIONS = 500  # sessions whose requests are read
READ = (
    *("ordinal", "model", "agent_id", "ended_at", "ended_received_at", "uncached_tokens", "visible_tokens"),
    *("cache_read_tokens", "cache_write_tokens", "reasoning_tokens", "unreconciled", "cost_nano"),
    *("loop__agent_id", "loop__session", "config__model"),
)


@dataclass(frozen=True, slots=True)
class DearRequest:
    """One request. `verdict` is that of its cache, `main_part` what most of its money was for.

    `cumulative` is the part of the period's cost that it and all dearer requests make.
    """

    turn: int
    loop: int
    session: int
    title: str
    session_id: str
    number: int  # of the turn in its loop, from 1
    agent: str
    model: str
    at: datetime
    prompt: int | None
    read_share: float | None
    output: int | None
    verdict: str
    main_part: str  # read, write, uncached, output; "" if no price divides the cost
    lost_nano: int | None
    cost_nano: int
    cumulative: float


@dataclass(frozen=True, slots=True)
class DearRequests:
    """Of `calls` requests with a cost, `few.least` to `few.most` make 90 % of `cost_nano`.

    `is_cut` says that more cost about as much as the listed ones, which are those of the newest sessions.
    """

    calls: int
    cost_nano: int
    few: Few | None
    is_cut: bool = False
    rows: Sequence[DearRequest] = ()

    @property
    def is_exact(self) -> bool:
        return self.few is not None and self.few.least == self.few.most

    @property
    def share_of_calls(self) -> float | None:
        return self.few.most / self.calls if self.few else None


def dear_requests(scope: Scope, count: int = LISTED) -> DearRequests:
    """Return the dearest requests of the 90 %, at most `count` and `LISTED` of them."""
    classes = _classes(scope)
    calls, nano = sum(part.calls for part in classes), sum(part.nano for part in classes)
    few = cost_classes.few(classes)
    if few is None:
        return DearRequests(calls, nano, None)
    read = cost_classes.cheapest_read(classes, min(LISTED, few.most), SESSIONS)
    running, wanted = 0, cost_classes.share_of(nano)
    chosen: dict[int, int] = {}
    for turn, cost in _dearest(scope, read.cheapest):
        if running >= wanted:
            break
        running += cost
        chosen[turn] = running
    if running >= wanted and not read.is_cut:
        few = Few(len(chosen), len(chosen), few.cheapest)
    shown = {turn: chosen[turn] for turn in list(chosen)[:count]}
    return DearRequests(calls, nano, few, read.is_cut, _rows(shown, nano))


def _classes(scope: Scope) -> list[CostClass]:
    days = LedgerDay.objects.filter(**scope.condition(), kind=REQUEST)
    rows = days.values_list("name").annotate(Sum("calls"), Sum("cost_nano")).order_by()
    return [CostClass(*row) for row in rows]


def sessions_with(scope: Scope, cheapest: str) -> QuerySet[LedgerSum, int]:
    """Return the sessions with requests of a class or a dearer one, those with the dearest first."""
    # Written out: SQLite uses a partial index only where the query has its condition without parameters.
    counted = RawSQL("kind = 'request'", (), output_field=BooleanField())
    sums = LedgerSum.objects.filter(counted, **scope.condition(), name__gte=cheapest)
    return sums.order_by("-name", "-session").values_list("session", flat=True)


def _dearest(scope: Scope, cheapest: str) -> list[tuple[int, int]]:
    """Return the dearest requests with their costs."""
    sessions = set(sessions_with(scope, cheapest)[:SESSIONS])
    first = datetime.combine(scope.first, time(), UTC)
    after = datetime.combine(scope.last, time(), UTC) + timedelta(days=1)
    turns = Turn.objects.alias(at=happened("ended")).filter(
        loop__session__in=sessions,
        state="done",
        cost_nano__gte=cost_classes.least_of(cheapest),
        at__gte=first,
        at__lt=after,
    )
    if scope.agents:
        agent = Coalesce(NullIf("agent_id", Value("")), "loop__agent_id")
        turns = turns.alias(by=agent).filter(by__in=scope.agents)
    if scope.models:
        model = Coalesce(NullIf("model", Value("")), "config__model", Value(""))
        turns = turns.alias(of=model).filter(of__in=scope.models)
    rows = turns.order_by("-cost_nano", "pk").values_list("pk", "cost_nano")[:LISTED]
    return [(pk, nano) for pk, nano in rows if nano is not None]


def _rows(running: Mapping[int, int], total: int) -> list[DearRequest]:
    """Return requests with all that is shown of them; `running` is the cost of each and all dearer ones."""
    turns = Turn.objects.select_related("loop", "config").only(*READ).in_bulk(list(running))
    calls = {
        call.turn: call
        for call in LedgerCall.objects.filter(turn__in=turns).only("turn", "verdict", "lost_tokens")
    }
    spent = costs.of_turns(turns) if turns else {}
    sessions = Session.objects.only("title", "session_id").in_bulk(
        {turn.loop.session_id for turn in turns.values()}
    )
    return [
        _row(turn, calls.get(pk), spent[pk], session, upto / total)
        for pk, upto in running.items()  # a session may have been deleted between two queries
        if (turn := turns.get(pk)) and pk in spent and (session := sessions.get(turn.loop.session_id))
    ]


def _row(turn: Turn, call: LedgerCall | None, cost: Cost, session: Session, cumulative: float) -> DearRequest:
    billed, divided = cost.billed, cost.divided
    at = turn.ended_received_at or turn.ended_at
    assert at is not None, "an ended call has the time of its end"
    return DearRequest(
        turn=turn.pk,
        loop=turn.loop_id,
        session=session.pk,
        title=session.title or session.session_id,
        session_id=session.session_id,
        number=turn.ordinal + 1,
        agent=turn.agent_id or turn.loop.agent_id,
        model=cost.model,
        at=at,
        prompt=billed.prompt if billed else None,
        read_share=billed.cache_read / billed.prompt if billed and billed.prompt else None,
        output=billed.visible + billed.reasoning if billed else None,
        verdict=call.verdict if call else "",
        main_part=_main_part(cost),
        lost_nano=round(lost(divided.bands, call.lost_tokens) / UNITS) if divided and call else None,
        cost_nano=turn.cost_nano or 0,
        cumulative=cumulative,
    )


def _main_part(cost: Cost) -> str:
    """Return the part of a request that cost most."""
    if cost.divided is None:
        return ""
    bands = cost.divided.bands
    parts = {
        "read": bands.read * bands.read_upto,
        "write": bands.write * (bands.write_upto - bands.read_upto),
        "output": cost.divided.output,
    }
    parts["uncached"] = cost.divided.context - parts["read"] - parts["write"]
    return max(parts, key=lambda name: parts[name])

"""The billed calls of a scope: turns, and loops whose turns reported no usage.

Calls without a price, or whose counts do not reconcile, are only counted. At most `CALLS_MAX` are read.
Cost: six queries, and work in proportion to the calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import F, Q, QuerySet, Sum

from dashboard.shared.what_if.scope import Scope, agent_of_turn
from recorder.core.ledger.what_if import Call, Miss
from recorder.core.money.prices import Price, PriceBook, price_at, search_fee
from recorder.core.money.usage import Buckets
from recorder.ledger.costs import price_key
from recorder.models import LedgerCall, LoopRecord, ParallelGroupRecord, Turn, happened

CALLS_MAX = 20_000
COLUMNS = (
    *("uncached_tokens", "cache_read_tokens", "cache_write_tokens", "visible_tokens", "reasoning_tokens"),
    *("cache_write_1h_tokens", "cost_nano", "price_id", "cost_source", "unpriced", "unreconciled"),
    *("ended_event", "ended_time", "answered_by", "sold_by", "config_model", "config_provider", "of", "key"),
    "searches",
)


@dataclass(slots=True)
class Calls:
    """The calls of a scope; `unpriced` and `unreconciled` ones are not among them, `left_out_nano` is theirs.

    `is_cut` says that the scope has more than `CALLS_MAX`; then there are none.
    """

    found: list[Call] = field(default_factory=list)
    unpriced: int = 0
    unreconciled: int = 0
    reported: int = 0  # of those found: their cost was reported by the runtime
    without_ledger: int = 0  # of those found: the ledger does not have them
    left_out_nano: int = 0
    is_cut: bool = False


def calls_of(scope: Scope, book: PriceBook) -> Calls:
    """Return the calls of a scope, in no order; `book` has the prices of its project."""
    turns, loops = _turns(scope), _loops(scope)
    rows = [*_rows(turns, "model", "provider", "loop__segment", "end_event")]
    rows += _rows(loops, None, None, "segment", None)
    if len(rows) > CALLS_MAX:
        return Calls(is_cut=True)
    misses = _misses(scope, turns)
    by_id = {price.id: price for prices in book.values() for price in prices}
    calls = Calls(unpriced=_selections(scope))
    for row in rows:
        _add(calls, row, misses, by_id, book)
    return calls


def _turns(scope: Scope) -> QuerySet[Turn]:
    alias, where = scope.records("loop__session")
    turns = Turn.objects.alias(**alias).filter(where, state="done", loop__is_one_call=False)
    if scope.agent:
        turns = turns.alias(agent=agent_of_turn()).filter(agent=scope.agent)
    return turns


def _loops(scope: Scope) -> QuerySet[LoopRecord]:
    alias, where = scope.records("session")
    loops = LoopRecord.objects.alias(**alias).filter(where, is_one_call=True)
    return loops.filter(agent_id=scope.agent) if scope.agent else loops


def _rows(
    records: QuerySet[Any], model: str | None, provider: str | None, segment: str, event: str | None
) -> Iterator[Mapping[str, Any]]:
    names = {
        "ended_time": happened("ended"),
        "ended_event": F(event) if event else F("pk") * 0,
        "answered_by": F(model or "config__model"),
        "sold_by": F(provider or "config__provider"),
        "config_model": F("config__model"),
        "config_provider": F("config__provider"),
        "of": F(segment),
        "key": F("pk") if event else F("pk") * 0,
        "searches": F("web_searches") if event else F("pk") * 0,
    }
    values = records.order_by().annotate(**names).values_list(*COLUMNS)[: CALLS_MAX + 1]
    return (dict(zip(COLUMNS, row, strict=True)) for row in values)


def _misses(scope: Scope, turns: QuerySet[Turn]) -> dict[int, Miss]:
    ledger_calls = LedgerCall.objects.order_by()
    if scope.session is not None:
        ledger_calls = ledger_calls.filter(session=scope.session)
    else:
        ledger_calls = ledger_calls.filter(turn__in=turns.order_by().values("pk"))
    rows: Sequence[tuple[int, str, int, float]] = list(
        ledger_calls.values_list("turn", "verdict", "lost_tokens", "idle_s")
    )
    return {turn: Miss(verdict, lost, idle) for turn, verdict, lost, idle in rows}


def _selections(scope: Scope) -> int:
    """Return how many selections of a winner have no judge loop: their model and price are unknown."""
    if scope.agent:
        return 0
    alias, where = scope.records("session")
    groups = ParallelGroupRecord.objects.alias(**alias).filter(where, Q(judge=None, unpriced__gt=0))
    count: int = groups.aggregate(count=Sum("unpriced", default=0))["count"]
    return count


def _add(
    calls: Calls,
    row: Mapping[str, Any],
    misses: Mapping[int, Miss],
    by_id: Mapping[int, Price],
    book: PriceBook,
) -> None:
    nano = row["cost_nano"]
    if row["unreconciled"] or nano is None:
        calls.unreconciled += bool(row["unreconciled"])
        calls.unpriced += bool(row["unpriced"] and not row["unreconciled"])
        calls.left_out_nano += nano or 0
        return
    tokens = Buckets(*(row[name] or 0 for name in COLUMNS[:6]))
    config = row["config_model"] or "", row["config_provider"] or ""
    key = price_key(row["answered_by"] or "", row["sold_by"] or "", *config)
    price = by_id.get(row["price_id"])
    if price is None:  # a reported cost: rates only divide it
        price = price_at(book.get(key, ()), row["ended_event"], row["ended_time"])
        calls.reported += 1
    miss = misses.get(row["key"])
    calls.without_ledger += miss is None
    rates = price.rates(tokens.prompt) if price is not None and price.bands else None
    provider = price.provider if price is not None else key[1]
    fee = min(search_fee(provider, row["searches"]), nano)
    calls.found.append(Call(key, tokens, nano, row["ended_time"], rates, row["of"] == "judge", miss, fee))

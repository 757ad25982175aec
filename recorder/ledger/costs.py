"""The costs of ended calls as their turns have them now, divided between context and output."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date

from recorder.core.ledger.costs import Billed, Divided, divide
from recorder.core.money.prices import Price, PriceKey, Rates, price_at
from recorder.core.money.usage import UNKNOWN_PROVIDERS
from recorder.database import sql
from recorder.pricing import price_book

_COSTS = """SELECT t.id, t.loop_id, s.project_id, t.model, t.provider, COALESCE(c.model, ''),
COALESCE(c.provider, ''), t.uncached_tokens, t.visible_tokens, t.cache_read_tokens, t.cache_write_tokens,
t.cache_write_1h_tokens, t.reasoning_tokens, t.unreconciled, t.cost_nano, t.price_id, t.end_event,
COALESCE(t.ended_received_at, t.ended_at)
FROM recorder_turn t JOIN recorder_looprecord l ON l.id = t.loop_id
JOIN recorder_session s ON s.id = l.session_id
LEFT JOIN recorder_modelconfig c ON c.id = t.config_id WHERE {}"""


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one call. `divided` is None if no rates divide it, or its counts do not reconcile."""

    turn: int
    day: date
    model: str
    cost_nano: int | None  # None: without a price
    billed: Billed | None  # None: its counts do not reconcile
    divided: Divided | None

    @property
    def undivided_nano(self) -> int:
        """Return what is in neither context nor output."""
        return (self.cost_nano or 0) if self.divided is None else 0


def of_turns(turns: Collection[int]) -> dict[int, Cost]:
    """Return the costs of ended calls by the primary keys of their turns. Two queries a project."""
    return _costs(sql.in_list("t.id"), sql.list_param(turns))


def of_session(session: int) -> dict[int, Cost]:
    """Return the costs of all calls of a session by the primary keys of their turns. Two queries."""
    return _costs("l.session_id = %s AND t.state = 'done'", session)


def _costs(where: str, param: sql.Value) -> dict[int, Cost]:
    rows = sql.read(_COSTS.format(where), param)
    books = {project: price_book.all_prices(project) for project in {row[2] for row in rows}}
    by_id = {project: {p.id: p for found in book.values() for p in found} for project, book in books.items()}
    found = {}
    for row in rows:
        pk, _, project, model, provider, *config, uncached, visible, read, write, long, reasoning = row[:13]
        unreconciled, cost_nano, price_id, end_event, at = row[13:]
        at = sql.aware(at)
        assert at is not None, "an ended call has the time of its end"
        name = model or config[0]
        billed = None
        if not unreconciled and uncached is not None and visible is not None:
            price = by_id[project].get(price_id)
            if price is None and cost_nano is not None:  # a reported cost: rates only divide it
                price = price_at(books[project].get(price_key(model, provider, *config), ()), end_event, at)
            counts = {"uncached": uncached, "cache_read": read, "cache_write": write, "cache_write_1h": long}
            rates = _rates(price, uncached + read + write)
            billed = Billed(
                **counts, visible=visible, reasoning=reasoning, cost_nano=cost_nano or 0, rates=rates
            )
        divided = None if billed is None or cost_nano is None else divide(billed)
        found[pk] = Cost(pk, at.date(), name, cost_nano, billed, divided)
    return found


def _rates(price: Price | None, prompt: int) -> Rates | None:
    return price.rates(prompt) if price is not None and price.bands else None


def price_key(model: str, provider: str, config_model: str, config_provider: str) -> PriceKey:
    """Return the price key of a call as `recorder.core.costs.billing.price_key_of` does."""
    if model and provider not in UNKNOWN_PROVIDERS:
        return model, provider
    if config_model and config_provider not in UNKNOWN_PROVIDERS:
        return config_model, config_provider
    return model or config_model, ""

"""Pricing history again: every past call by the prices that hold now, some calls in each transaction.

It goes on where it stopped, whoever stopped it: how far it is stands in its own row.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal

from django.db import connection, transaction

from recorder.core.money import billing
from recorder.core.money.prices import MOST_NANO, Pair
from recorder.core.records import Loop, ModelConfig, Record, Session, Turn
from recorder.database import row_mapper, sql
from recorder.database.errors import STORE_ERRORS
from recorder.journal import append
from recorder.models import Project, Repricing
from recorder.pricing import price_book
from recorder.pricing.rollups import Sums
from recorder.pubsub import invalidation

log = logging.getLogger(__name__)

AT_ONCE = 500  # calls
wanted = threading.Event()  # there may be something to do
wanted.set()

TABLES: dict[type[Turn] | type[Loop], str] = {Turn: "recorder_turn", Loop: "recorder_looprecord"}
SOURCES = {
    (False, False): "none",
    (True, False): "computed",
    (False, True): "reported",
    (True, True): "mixed",
}
_ENDED = {Turn: "r.state = 'done'", Loop: "r.is_one_call AND r.ended_at IS NOT NULL"}


def request(project: Project, pair: Pair | None, by: str) -> Repricing:
    """Ask for the history of a model at a provider to be priced again, of every model without a pair."""
    with transaction.atomic():
        price_book.let_hold(project.pk, price_book.pairs(project.pk) if pair is None else {pair})
        model, provider = pair or ("", "")
        asked = Repricing.objects.create(project=project, model=model, provider=provider, requested_by=by)
    wanted.set()
    return asked


def go_on(is_interrupted: Callable[[], bool] = lambda: False) -> None:
    """Do what is asked for until it is done or something else comes. A bug of ours is logged, not raised."""
    try:
        while wanted.is_set() and not is_interrupted():
            if not step():
                wanted.clear()
    except STORE_ERRORS:
        connection.close()  # it is tried again
    except Exception:
        log.exception("history cannot be repriced")
        wanted.clear()


def step() -> bool:
    """Price some calls again; False when nothing is left to do."""
    with transaction.atomic():
        asked = Repricing.objects.filter(finished_at=None).order_by("pk").first()
        if asked is None:
            return False
        append.lock(asked.project_id)
        asked.refresh_from_db()
        touched = invalidation.Invalidation(asked.project_id) if asked.finished_at else _step(asked)
    invalidation.publish(touched)
    return True


@dataclass(slots=True)
class _Some:
    """Some calls of a project in recorded order, and what of them changed."""

    calls: list[Turn | Loop]
    loops: dict[int, Loop]
    configs: dict[int, ModelConfig]
    changed: list[Turn | Loop] = field(default_factory=list)
    costs: list[int] = field(default_factory=list)  # by how much theirs did

    def loop(self, call: Turn | Loop) -> Loop:
        return self.loops[_pk(call.loop)] if isinstance(call, Turn) else call

    def pair(self, call: Turn | Loop) -> Pair | None:
        config = self.configs.get(_pk(call.config))
        if isinstance(call, Turn):
            return billing.pair_of(call.model, call.provider, config)
        return billing.pair_of("", "", config)


def _step(asked: Repricing) -> invalidation.Invalidation:
    kind: type[Turn] | type[Loop] = Turn if asked.stage == "turns" else Loop
    last = _end_of_next(kind, asked.position)
    if last is None:
        _next_stage(asked)
        return invalidation.Invalidation(asked.project_id)
    some = _read(kind, asked, last)
    _price(asked, some)
    loops = _write(kind, some)
    asked.position = last
    asked.looked_at += len(some.calls)
    asked.changed += sum(map(bool, some.costs))
    asked.change_nano += sum(some.costs)
    asked.save()
    turns = {call.id: _pk(call.loop) for call in some.changed if isinstance(call, Turn)}
    return invalidation.Invalidation(asked.project_id, sessions=set(loops.values()), loops=loops, turns=turns)


def _next_stage(asked: Repricing) -> None:
    asked.position = 0
    asked.stage = "loops" if asked.stage == "turns" else "done"
    asked.finished_at = datetime.now(UTC) if asked.stage == "done" else None
    asked.save()


def _end_of_next(kind: type[Turn] | type[Loop], position: int) -> int | None:
    ids = f"SELECT id FROM {TABLES[kind]} WHERE id > %s ORDER BY id LIMIT {AT_ONCE}"
    last: int | None = sql.read(f"SELECT MAX(id) FROM ({ids}) AS ids", position)[0][0]
    return last


def _read(kind: type[Turn] | type[Loop], asked: Repricing, last: int) -> _Some:
    loop = "r.loop_id" if kind is Turn else "r.id"
    within = f"""JOIN recorder_looprecord l ON l.id = {loop} JOIN recorder_session s ON s.id = l.session_id
                 WHERE s.project_id = %s AND r.id > %s AND r.id <= %s AND {_ENDED[kind]}"""
    calls = row_mapper.table(kind).select(within, asked.project_id, asked.position, last)
    some = _Some([call for call in calls if isinstance(call, Turn | Loop)], {}, {})
    for record in _by_key(Loop, {_pk(call.loop) for call in some.calls if isinstance(call, Turn)}):
        if isinstance(record, Loop):
            some.loops[record.id] = record
    for record in _by_key(ModelConfig, {_pk(call.config) for call in some.calls}):
        if isinstance(record, ModelConfig):
            some.configs[record.id] = record
    return some


def _price(asked: Repricing, some: _Some) -> None:
    named = (asked.model, asked.provider) if asked.model else None
    pairs = {call: some.pair(call) for call in some.calls}
    rows = price_book.prices(asked.project_id, {pair for pair in pairs.values() if pair})
    sums = Sums()
    for call, pair in pairs.items():
        if pair is None or (named and pair != named):
            continue
        loop, before = some.loop(call), call.cost_nano or 0
        if isinstance(call, Turn):
            call.loop = loop
        sums.count(call, loop.segment, -1)
        if billing.price_again(call, call.end_event or 0, rows.get(pair, ())):
            some.changed.append(call)
            some.costs.append((call.cost_nano or 0) - before)
        sums.count(call, loop.segment)
    sums.write(asked.project_id)


def _write(kind: type[Turn] | type[Loop], some: _Some) -> dict[int, int]:
    """Write the calls, and the sums above them; return the loops that changed and their sessions."""
    values = [(call.cost_nano, call.price, call.cost_source, call.unpriced, call.id) for call in some.changed]
    says = "cost_nano = %s, price_id = %s, cost_source = %s, unpriced = %s"
    sql.write(f"UPDATE {TABLES[kind]} SET {says} WHERE id = %s", values)
    loops = {loop.id: _pk(loop.session) for loop in map(some.loop, some.changed)}
    if kind is Turn:
        told = [pk for pk in loops if not some.loops[pk].is_one_call]
        _add_up(TABLES[Turn], "loop_id", TABLES[Loop], told)
    _add_up(TABLES[Loop], "session_id", "recorder_session", set(loops.values()))
    return loops


def _add_up(parts: str, key: str, whole: str, pks: Collection[int]) -> None:
    """Let some wholes cost what their parts do."""
    says = "SUM(CASE WHEN cost_source IN ('{}', 'mixed') THEN 1 ELSE 0 END)"
    sums = f"SUM(cost_nano), SUM(unpriced), {says.format('computed')}, {says.format('reported')}"
    found = sql.read(
        f"SELECT {key}, {sums} FROM {parts} WHERE {sql.in_list(key)} GROUP BY {key}",
        sql.list_param(pks),
    )
    rows = [
        (_whole(nano), int(unpriced), SOURCES[bool(computed), bool(reported)], pk)
        for pk, nano, unpriced, computed, reported in found
    ]
    sql.write(f"UPDATE {whole} SET cost_nano = %s, unpriced = %s, cost_source = %s WHERE id = %s", rows)


def _whole(nano: Decimal | int | None) -> int | None:
    return None if nano is None else min(int(nano), MOST_NANO)


def _by_key(kind: type[Loop] | type[ModelConfig], keys: Collection[int]) -> list[Record]:
    return row_mapper.table(kind).select(f"WHERE {sql.in_list('r.id')}", sql.list_param(keys))


def _pk(link: Loop | ModelConfig | Session | int | None) -> int:
    """Return the key of a link: as read from its table, a link is one."""
    return link if isinstance(link, int) else link.id if link else 0

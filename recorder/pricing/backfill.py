"""Re-pricing: bill past calls again by the prices that hold now, in batches of one transaction each.

The job is resumable: its row stores the position of the last batch.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime

from django.db import connection, transaction

from recorder.core.costs import billing
from recorder.core.money.prices import PriceKey
from recorder.core.records import Loop, ModelConfig, Record, Session, Turn
from recorder.database import project_lock, row_mapper, sql
from recorder.database.errors import STORE_ERRORS
from recorder.models import LedgerRedo, Project, Repricing
from recorder.pricing import price_book, stated_costs, turn_history
from recorder.pricing.rollups import Sums
from recorder.pricing.totals import add_up
from recorder.pubsub import invalidation

log = logging.getLogger(__name__)

BATCH_CALLS = 500
wanted = threading.Event()  # set when a job may be pending
wanted.set()

TABLES: dict[type[Turn] | type[Loop], str] = {Turn: "recorder_turn", Loop: "recorder_looprecord"}
_ENDED = {Turn: "r.state = 'done'", Loop: "r.is_one_call AND r.ended_at IS NOT NULL"}


def request(project: Project, pair: PriceKey | None, by: str) -> Repricing:
    """Create a re-pricing job for one pair of model and provider, or for all pairs when `pair` is None.

    Prices that hold now are first made valid for all recorded calls.
    """
    with transaction.atomic():
        price_book.let_hold(project.pk, price_book.pairs(project.pk) if pair is None else {pair})
        model, provider = pair or ("", "")
        job = Repricing.objects.create(project=project, model=model, provider=provider, requested_by=by)
    wanted.set()
    return job


def run_pending(is_interrupted: Callable[[], bool] = lambda: False) -> None:
    """Work on pending jobs until none is left or `is_interrupted` returns True; log internal errors."""
    try:
        while wanted.is_set() and not is_interrupted():
            if not step():
                wanted.clear()
    except STORE_ERRORS:
        connection.close()  # retried on the next call
    except Exception:
        log.exception("re-pricing failed")
        wanted.clear()


def step() -> bool:
    """Bill the next batch of calls again; False when no job is pending."""
    with transaction.atomic():
        job = Repricing.objects.filter(finished_at=None).order_by("pk").first()
        if job is None:
            return False
        project_lock.lock(job.project_id)
        job.refresh_from_db()
        touched = invalidation.Invalidation(job.project_id) if job.finished_at else _step_of_stage(job)
    invalidation.publish(touched)
    return True


def _step_of_stage(job: Repricing) -> invalidation.Invalidation:
    return turn_history.step(job) if job.stage == turn_history.STAGE else _step(job)


@dataclass(slots=True)
class _Batch:
    """A batch of calls of one project in recorded order, and those whose cost changed."""

    calls: list[Turn | Loop]
    loops: dict[int, Loop]
    configs: dict[int, ModelConfig]
    changed: list[Turn | Loop] = field(default_factory=list)
    differences: list[int] = field(default_factory=list)  # of the changed calls' costs, nano-dollars

    def loop(self, call: Turn | Loop) -> Loop:
        return self.loops[_pk(call.loop)] if isinstance(call, Turn) else call

    def pair(self, call: Turn | Loop) -> PriceKey | None:
        config = self.configs.get(_pk(call.config))
        if isinstance(call, Turn):
            return billing.price_key_of(call.model, call.provider, config)
        return billing.price_key_of("", "", config)


def _step(job: Repricing) -> invalidation.Invalidation:
    kind: type[Turn] | type[Loop] = Turn if job.stage == "turns" else Loop
    last = _end_of_next(kind, job.position)
    if last is None:
        _next_stage(job)
        return invalidation.Invalidation(job.project_id)
    batch = _read(kind, job, last)
    _price(job, batch)
    loops = _write(job.project_id, kind, batch)
    job.position = last
    job.processed += len(batch.calls)
    job.changed += sum(map(bool, batch.differences))
    job.change_nano += sum(batch.differences)
    job.save()
    turns = {call.id: _pk(call.loop) for call in batch.changed if isinstance(call, Turn)}
    return invalidation.Invalidation(job.project_id, sessions=set(loops.values()), loops=loops, turns=turns)


def _next_stage(job: Repricing) -> None:
    job.position = 0
    job.stage = "loops" if job.stage == "turns" else "done"
    job.finished_at = datetime.now(UTC) if job.stage == "done" else None
    job.save()


def _end_of_next(kind: type[Turn] | type[Loop], position: int) -> int | None:
    ids = f"SELECT id FROM {TABLES[kind]} WHERE id > %s ORDER BY id LIMIT {BATCH_CALLS}"
    last: int | None = sql.read(f"SELECT MAX(id) FROM ({ids}) AS ids", position)[0][0]
    return last


def _read(kind: type[Turn] | type[Loop], job: Repricing, last: int) -> _Batch:
    loop = "r.loop_id" if kind is Turn else "r.id"
    within = f"""JOIN recorder_looprecord l ON l.id = {loop} JOIN recorder_session s ON s.id = l.session_id
                 WHERE s.project_id = %s AND r.id > %s AND r.id <= %s AND {_ENDED[kind]}"""
    calls = row_mapper.table(kind).select(within, job.project_id, job.position, last)
    batch = _Batch([call for call in calls if isinstance(call, Turn | Loop)], {}, {})
    for record in _by_key(Loop, {_pk(call.loop) for call in batch.calls if isinstance(call, Turn)}):
        if isinstance(record, Loop):
            batch.loops[record.id] = record
    for record in _by_key(ModelConfig, {_pk(call.config) for call in batch.calls}):
        if isinstance(record, ModelConfig):
            batch.configs[record.id] = record
    return batch


def _price(job: Repricing, batch: _Batch) -> None:
    named = (job.model, job.provider) if job.model else None
    pairs = {call: batch.pair(call) for call in batch.calls}
    rows = price_book.prices(job.project_id, {pair for pair in pairs.values() if pair})
    sums = Sums()
    for call, pair in pairs.items():
        if pair is None or (named and pair != named):
            continue
        loop, before = batch.loop(call), call.cost_nano or 0
        if isinstance(call, Turn):
            call.loop = loop
        sums.count(call, loop.segment, -1)
        if billing.reprice(call, call.end_event or 0, rows.get(pair, ())):
            batch.changed.append(call)
            batch.differences.append((call.cost_nano or 0) - before)
        sums.count(call, loop.segment)
    sums.write(job.project_id)


def _write(project: int, kind: type[Turn] | type[Loop], batch: _Batch) -> dict[int, int]:
    """Write the calls and the totals above them; return the changed loops with their sessions."""
    values = [
        (call.cost_nano, call.price, call.cost_source, call.unpriced, call.id) for call in batch.changed
    ]
    says = "cost_nano = %s, price_id = %s, cost_source = %s, unpriced = %s"
    sql.write(f"UPDATE {TABLES[kind]} SET {says} WHERE id = %s", values)
    loops = {loop.id: _pk(loop.session) for loop in map(batch.loop, batch.changed)}
    LedgerRedo.mark(set(loops.values()), is_whole=False)
    if kind is Turn:
        billed_by_turn = [pk for pk in loops if not batch.loops[pk].is_one_call]
        add_up(TABLES[Turn], "loop_id", TABLES[Loop], billed_by_turn)
    add_up(TABLES[Loop], "session_id", "recorder_session", set(loops.values()))
    stated_costs.of_keys(project, set(loops.values()))
    return loops


def _by_key(kind: type[Loop] | type[ModelConfig], keys: Collection[int]) -> list[Record]:
    return row_mapper.table(kind).select(f"WHERE {sql.in_list('r.id')}", sql.list_param(keys))


def _pk(link: Loop | ModelConfig | Session | int | None) -> int:
    """Return the primary key of a link; in records read from a table, a link is its key."""
    return link if isinstance(link, int) else link.id if link else 0

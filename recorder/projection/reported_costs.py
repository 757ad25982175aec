"""Gives recorded turns the cost that telemetry reported of them, after the other changes are written.

Cost: one query for the turns, three statements for what changes, and the sums over the turns of a loop and
over the loops of a session.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from recorder.core.changes import Change, CostReported
from recorder.core.costs import billing
from recorder.core.money.prices import PriceKey
from recorder.core.records import Loop, ModelConfig, Session, Turn
from recorder.database import row_mapper, sql
from recorder.models import LedgerRedo
from recorder.pricing import price_book
from recorder.pricing.rollups import Sums
from recorder.pricing.totals import add_up

Called = tuple[int, int]  # primary key of a loop, index of a turn


def apply(project: int, changes: Iterable[Change]) -> list[Turn]:
    """Set the reported costs of turns, and the sums of their loops and sessions; return these turns."""
    reports = {(each.loop.id, each.turn_index): each for each in changes if type(each) is CostReported}
    if not reports:
        return []
    turns = _turns(reports)
    sums = Sums()
    rows = price_book.prices(project, {key for turn in turns if (key := _price_key(turn)) is not None})
    for turn in turns:
        report = reports[turn.loop.id, turn.turn_index]
        sums.count(turn, turn.loop.segment, -1)
        key = _price_key(turn)
        billing.report(turn, report.nano, rows.get(key, ()) if key else ())
        sums.count(turn, turn.loop.segment)
        if report.turn is not None and report.turn.id == turn.id:
            _copy(report.turn, turn)
    sums.write(project)
    sql.write(
        "UPDATE recorder_turn SET cost_nano = %s, price_id = %s, cost_source = %s, unpriced = %s "
        "WHERE id = %s",
        [(turn.cost_nano, turn.price, turn.cost_source, turn.unpriced, turn.id) for turn in turns],
    )
    _add_up({turn.loop for turn in turns})
    LedgerRedo.mark({turn.loop.session.id for turn in turns}, is_whole=False)
    return turns


def add_up_sessions(sessions: Collection[Session]) -> None:
    """Sum the costs of sessions over their loops again, in the table and in the records."""
    if sessions:
        add_up("recorder_looprecord", "session_id", "recorder_session", {session.id for session in sessions})
        _read_back("recorder_session", list(sessions))


def _turns(reports: dict[Called, CostReported]) -> list[Turn]:
    """Return the ended turns of reports as they are stored, with the loops of the reports."""
    loops = {report.loop.id: report.loop for report in reports.values()}
    indexes = {index for _, index in reports}
    where = f"WHERE r.state = 'done' AND {sql.in_list('r.loop_id')} AND {sql.in_list('r.turn_index')}"
    found = row_mapper.table(Turn).select(where, sql.list_param(loops), sql.list_param(indexes))
    turns: list[Turn] = []
    for turn in found:
        assert isinstance(turn, Turn)
        loop = loops[turn.loop]  # type: ignore[index]  # as read, a link is a primary key
        if (loop.id, turn.turn_index) in reports and not loop.is_one_call:
            turn.loop = loop
            turns.append(turn)
    configs = {turn.config for turn in turns if turn.config is not None}
    of_key = {each.id: each for each in row_mapper.table(ModelConfig).select(
        f"WHERE {sql.in_list('r.id')}", sql.list_param(configs))}  # type: ignore[arg-type]  # fmt: skip
    for turn in turns:
        turn.config = of_key.get(turn.config)  # type: ignore[call-overload]
    return turns


def _price_key(turn: Turn) -> PriceKey | None:
    return billing.price_key_of(turn.model, turn.provider, turn.config)


def _add_up(loops: set[Loop]) -> None:
    """Sum the costs of loops and sessions again, in the tables and in the records."""
    if loops:
        add_up("recorder_turn", "loop_id", "recorder_looprecord", {loop.id for loop in loops})
        _read_back("recorder_looprecord", list(loops))
        add_up_sessions({loop.session for loop in loops})


def _read_back(table: str, records: Sequence[Loop] | Sequence[Session]) -> None:
    of_key = {record.id: record for record in records}
    for pk, nano, unpriced, source in sql.read(
        f"SELECT id, cost_nano, unpriced, cost_source FROM {table} WHERE {sql.in_list('id')}",
        sql.list_param(of_key),
    ):
        record = of_key[pk]
        record.cost_nano, record.unpriced, record.cost_source = nano, unpriced, source


def _copy(record: Turn, turn: Turn) -> None:
    for name in ("cost_nano", "price", "cost_source", "unpriced"):
        setattr(record, name, getattr(turn, name))

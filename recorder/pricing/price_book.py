"""The price book of a project: prices copied from the price list when a model is first used, and overrides.

Rows are never changed in their rates, so a rebuild bills every call at the price it was billed at. A newer
list, or an override of the project, applies to calls recorded after it; earlier calls follow only when their
history is re-priced (`pricing/backfill.py`).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from typing import TypeAlias

from recorder.core.content.text import clean
from recorder.core.money.prices import Band, Price, PriceKey, Rates
from recorder.database import project_lock, sql
from recorder.pricing import price_list

COLUMNS = (
    *("id", "model", "provider", "is_own", "edition", "valid_from", "daily", "after_event", "until_event"),
    *("bands", "list_version"),
)
NEW = (
    *("project_id", "model", "provider", "is_own", "edition", "list_version", "place", "valid_from", "daily"),
    *("after_event", "bands", "created_at", "created_by"),
)
TABLE = "recorder_price"
NAME_MAX = 512  # characters of a model's or provider's name
RATES = tuple(each.name for each in fields(Rates))
_Row: TypeAlias = tuple[sql.Value, ...]
_IS_OWN, _EDITION = COLUMNS.index("is_own"), COLUMNS.index("edition")
_SELECT = f"SELECT {', '.join(COLUMNS)} FROM {TABLE} WHERE project_id = %s"


def prices(project: int, pairs: Collection[PriceKey]) -> Mapping[PriceKey, Sequence[Price]]:
    """Return the price rows of each pair, oldest first.

    Copies entries of the price list that the project lacks, so call it within the recording transaction.
    """
    rows = _rows(project, pairs)
    stale = {pair for pair in pairs if not any(_is_of_list(row) for row in rows.get(pair, ()))}
    if stale:
        for pair in sorted(stale):
            _copy_from_list(project, pair, [row for row in rows.get(pair, ()) if not row[_IS_OWN]])
        rows = _rows(project, pairs)
    return {pair: [_price(*row[:-1]) for row in found] for pair, found in rows.items()}


def all_prices(project: int) -> Mapping[PriceKey, Sequence[Price]]:
    """Return every price row of a project, oldest first for each pair."""
    found: dict[PriceKey, list[Price]] = {}
    for row in sql.read(f"{_SELECT} ORDER BY id", project):
        found.setdefault((row[1], row[2]), []).append(_price(*row[:-1]))
    return found


def add(project: int, pair: PriceKey, bands: Sequence[Band], valid_from: datetime | None, by: str) -> None:
    """Add an override: what a model costs from `valid_from` on. Recorded calls keep their cost.

    `by` is the user's name; the rates of `bands` are dollars per million tokens.
    """
    model, provider = clean(pair[0], NAME_MAX), clean(pair[1], NAME_MAX)
    project_lock.lock(project)
    values = (project, model, provider, True, "", "", 0, valid_from, "", _last_event(), bands, by)
    _insert([values])


def withdraw(project: int, price: int, by: str) -> None:
    """End an override for future calls; the row stays, for the calls that were billed with it.

    The row records when that was and the user's name, `by`. A second withdrawal changes nothing.
    """
    project_lock.lock(project)
    now = sql.timestamp_encoder()(datetime.now(UTC))
    ended = f"UPDATE {TABLE} SET until_event = %s, withdrawn_at = %s, withdrawn_by = %s"
    which = "WHERE id = %s AND project_id = %s AND until_event IS NULL AND is_own"
    sql.write(f"{ended} {which}", [(_last_event(), now, by, price, project)])


def let_hold(project: int, pairs: Collection[PriceKey]) -> None:
    """Make the prices of some pairs that hold now the only ones, for all recorded calls."""
    project_lock.lock(project)
    prices(project, pairs)  # copies entries of a price list that is newer than the last recorded call
    rows = [(project, *pair) for pair in sorted(pairs)]
    of_pair = "WHERE project_id = %s AND model = %s AND provider = %s AND until_event IS"
    sql.write(f"UPDATE {TABLE} SET after_event = 0 {of_pair} NULL", rows)
    sql.write(f"UPDATE {TABLE} SET until_event = 0 {of_pair} NOT NULL", rows)


def pairs(project: int) -> set[PriceKey]:
    """Return every pair of model and provider that the price book has a row of."""
    rows = sql.read(f"SELECT DISTINCT model, provider FROM {TABLE} WHERE project_id = %s", project)
    return {(model, provider) for model, provider in rows}


def forget_unused(project: int) -> None:
    """Delete price list rows of models that no config and no turn names any more."""
    loops = "SELECT l.id FROM recorder_looprecord l JOIN recorder_session s ON s.id = l.session_id"
    turns = f"SELECT model, provider FROM recorder_turn WHERE loop_id IN ({loops} WHERE s.project_id = %s)"
    configs = "SELECT model, provider FROM recorder_modelconfig WHERE project_id = %s"
    statement = f"DELETE FROM {TABLE} WHERE project_id = %s AND NOT is_own"
    unnamed = f"(model, provider) NOT IN ({configs}) AND (model, provider) NOT IN ({turns})"
    sql.write(f"{statement} AND {unnamed}", [[project, project, project]])


def _rows(project: int, pairs: Collection[PriceKey]) -> dict[PriceKey, list[_Row]]:
    if not pairs:
        return {}
    models = sql.list_param(sorted({model for model, _ in pairs}))
    found: dict[PriceKey, list[_Row]] = {}
    for row in sql.read(f"{_SELECT} AND {sql.in_list('model')} ORDER BY id", project, models):
        if (row[1], row[2]) in pairs:
            found.setdefault((row[1], row[2]), []).append(tuple(row))
    return found


def _is_of_list(row: _Row) -> bool:
    """Say whether a row agrees with the price list that this process has installed."""
    return not row[_IS_OWN] and price_list.edition() in (row[_EDITION], row[-1])


def _copy_from_list(project: int, pair: PriceKey, rows: list[_Row]) -> None:
    """Copy the list's entries of a pair if they are new; a pair without an entry gets an empty row."""
    edition = price_list.edition()
    entries = price_list.listed(*pair)
    listed = [(each.valid_from, each.daily, each.bands) for each in entries] or [(None, "", ())]
    newest = [_price(*row[:-1]) for row in rows if row[_EDITION] == rows[-1][_EDITION]]
    if [(row.valid_from, row.daily, row.bands) for row in newest] == listed:
        sql.write(
            "UPDATE recorder_price SET list_version = %s WHERE id = %s", [(edition, row.id) for row in newest]
        )
        return
    after = _last_event() if rows else 0
    _insert(
        (project, *pair, False, edition, edition, place, valid_from, daily, after, bands, "")
        for place, (valid_from, daily, bands) in enumerate(listed)
    )


def _insert(rows: Iterable[tuple[sql.Value, ...]]) -> None:
    moment, now = sql.timestamp_encoder(), datetime.now(UTC)
    sql.write(
        f"{sql.insert(TABLE, NEW)} ON CONFLICT DO NOTHING",
        [
            (*about, valid_from and moment(valid_from), daily, after, encode_bands(bands), moment(now), by)
            for *about, valid_from, daily, after, bands, by in rows
        ],
    )


def _last_event() -> int:
    return int(sql.read("SELECT COALESCE(MAX(id), 0) FROM recorder_journalevent")[0][0])


@lru_cache(maxsize=4096)  # the same few rows, batch after batch
def _price(
    id: int,
    model: str,
    provider: str,
    is_own: bool,  # noqa: FBT001
    edition: str,
    valid_from: datetime | None,
    daily: str,
    after_event: int,
    until_event: int | None,
    bands: str,
) -> Price:
    starts = sql.aware(valid_from)
    return Price(
        id,
        model,
        provider,
        bool(is_own),
        edition,
        starts,
        daily,
        after_event,
        until_event,
        decode_bands(bands),
    )


def encode_bands(bands: Sequence[Band]) -> str:
    """Encode bands as the JSON of their column."""
    rows = [{"over": band.over, **{name: str(getattr(band.rates, name)) for name in RATES}} for band in bands]
    return json.dumps(rows, separators=(",", ":"))


def decode_bands(text: str) -> tuple[Band, ...]:
    """Decode the JSON of the column `bands`."""
    return bands_of(json.loads(text))


def bands_of(rows: Iterable[Mapping[str, sql.Value]]) -> tuple[Band, ...]:
    """Return bands from the parsed JSON of their column."""
    return tuple(Band(each["over"], Rates(**{name: Decimal(each[name]) for name in RATES})) for each in rows)

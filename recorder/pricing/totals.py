"""Costs of loops and sessions, summed again from their parts."""

from __future__ import annotations

from collections.abc import Collection
from decimal import Decimal

from recorder.core.money.prices import MAX_NANO
from recorder.database import sql


def add_up(parts: str, key: str, whole: str, pks: Collection[int]) -> None:
    """Set the costs of rows of `whole` to the sums over their rows of `parts`."""
    counts = "SUM(CASE WHEN cost_source IN ('{}', 'mixed') THEN 1 ELSE 0 END)"
    # As in `billing`, a computed cost of 0 makes no source mixed.
    paid = counts.format("computed").replace("THEN", "AND cost_nano <> 0 THEN")
    sums = f"SUM(cost_nano), SUM(unpriced), {paid}, {counts.format('computed')}, {counts.format('reported')}"
    found = sql.read(
        f"SELECT {key}, {sums} FROM {parts} WHERE {sql.in_list(key)} GROUP BY {key}",
        sql.list_param(pks),
    )
    rows = [
        (_whole(nano), int(unpriced), _source(paid, computed, reported), pk)
        for pk, nano, unpriced, paid, computed, reported in found
    ]
    sql.write(f"UPDATE {whole} SET cost_nano = %s, unpriced = %s, cost_source = %s WHERE id = %s", rows)


def _source(paid: int, computed: int, reported: int) -> str:
    if reported:
        return "mixed" if paid else "reported"
    return "computed" if computed else "none"


def _whole(nano: Decimal | int | None) -> int | None:
    return None if nano is None else min(int(nano), MAX_NANO)

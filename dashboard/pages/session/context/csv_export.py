"""The block ledger as a CSV file: exact amounts, and rows that add up to the cost of the scope."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from dashboard.pages.session.context.queries import Reading
from dashboard.web.csv_response import Cell

HEADER = (
    *("kind", "name", "detail", "server", "tokens", "tokens_source", "bytes", "first_turn", "last_turn"),
    *("turns", "left_by", "carried_usd"),
)


def rows(reading: Reading) -> Iterator[Sequence[Cell]]:
    """Yield a row for each block, then one for the output and one for what no price divides."""
    ledger = reading.ledger
    for block in ledger.blocks:
        yield (
            *(block.kind, block.name, block.detail, block.server),
            *(block.tokens, block.tokens_source, block.bytes),
            *(reading.numbered(block.first), reading.numbered(block.last), block.calls),
            *(block.left_by, _usd(block.carried_nano)),
        )
    output = sum(call.output_tokens for call in ledger.calls)
    empty = (None,) * 3
    yield "output", *empty, output, None, None, *empty, None, _usd(ledger.output_nano)
    yield "undivided", *empty, None, None, None, *empty, None, _usd(ledger.undivided_nano)


def _usd(nano: int) -> Decimal:
    return Decimal(nano).scaleb(-9)

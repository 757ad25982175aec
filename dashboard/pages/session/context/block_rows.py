"""The rows of the block ledger: filtered, answers and thinking as one row each, and totals that add up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from dashboard.pages.session.context.queries import Reading
from dashboard.pages.session.context.words import KINDS
from dashboard.rendering.number_format import exact
from dashboard.shared.ledger.queries.session_ledger import BlockRow
from dashboard.web import links

MOST, MOST_WHOLE = 60, 1_000
FOLDED = {"thinking": "Thinking of {} blocks", "assistant": "Answers, {} blocks"}
LEFT_BY = {"": "in use", "end": "end", "replaced": "replaced", "prune": "prune", "compaction": "compaction"}


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One row. `first` and `last` are numbers of calls; `calls` is None for several blocks."""

    kind: str
    kind_name: str
    name: str
    detail: str
    server: str
    tokens: int
    is_approximate: bool
    first: int
    last: int
    calls: int | None
    carried_tokens: int
    nano: int
    left_by: str
    url: str
    is_never_called: bool = False

    @property
    def css(self) -> str:
        return f"block-{self.kind}"

    @property
    def usd(self) -> str:
        return usd(self.nano)


@dataclass(frozen=True, slots=True)
class BlockRows:
    """The rows that are shown, and sums over all blocks of the scope."""

    rows: Sequence[LedgerRow]
    more: int
    more_tokens: int
    more_carried: int
    more_nano: int
    highest: int  # of the column of the bars
    blocks: int
    tokens: int
    carried_tokens: int
    filtered: int | None  # blocks that match; None without a filter

    @property
    def more_usd(self) -> str:
        return usd(self.more_nano)


def usd(nano: int) -> str:
    """Return nano-dollars as exact dollars."""
    return f"{Decimal(nano).scaleb(-9):f}"


def matching(reading: Reading) -> list[BlockRow]:
    """Return the blocks that the filters of the page match, by carried cost, or tokens without prices."""
    params, needle = reading.params, reading.params.q.casefold()
    blocks = [
        block
        for block in reading.ledger.blocks
        if params.includes(block.kind)
        and (not params.call or block.tool_call_id == params.call)
        and (
            not needle or any(needle in text.casefold() for text in (block.name, block.detail, block.server))
        )
    ]
    return blocks if reading.has_costs else sorted(blocks, key=lambda block: -block.tokens * block.calls)


def block_rows(reading: Reading) -> BlockRows:
    """Return the rows of a page: the dearest MOST, or MOST_WHOLE when all are asked for."""
    params, blocks = reading.params, reading.ledger.blocks
    is_filtered = bool(params.q or params.kind or params.call)
    matched = matching(reading)
    rows = [_row(reading, block) for block in matched] if is_filtered else _ledger_rows(reading, matched)
    rows.sort(key=lambda row: -(row.nano if reading.has_costs else row.carried_tokens))
    shown, rest = rows[: (most := MOST_WHOLE if params.is_whole else MOST)], rows[most:]
    return BlockRows(
        rows=shown,
        more=len(rest),
        more_tokens=sum(row.tokens for row in rest),
        more_carried=sum(row.carried_tokens for row in rest),
        more_nano=sum(row.nano for row in rest),
        highest=max((row.nano if reading.has_costs else row.carried_tokens for row in shown), default=0),
        blocks=len(blocks),
        tokens=sum(block.tokens for block in blocks),
        carried_tokens=sum(block.tokens * block.calls for block in blocks),
        filtered=len(matched) if is_filtered else None,
    )


def _ledger_rows(reading: Reading, blocks: Iterable[BlockRow]) -> list[LedgerRow]:
    of_kind: dict[str, list[BlockRow]] = {kind: [] for kind in FOLDED}
    rows = []
    for block in blocks:
        if block.kind in FOLDED:
            of_kind[block.kind].append(block)
        else:
            rows.append(_row(reading, block))
    for kind, inside in of_kind.items():
        if len(inside) == 1:
            rows.append(_row(reading, inside[0]))
        elif inside:
            rows.append(_fold(reading, kind, inside))
    return rows


def _fold(reading: Reading, kind: str, inside: Sequence[BlockRow]) -> LedgerRow:
    ways = {LEFT_BY[block.left_by] for block in inside}
    return LedgerRow(
        kind=kind,
        kind_name=KINDS[kind],
        name=FOLDED[kind].format(exact(len(inside))),
        detail="",
        server="",
        tokens=sum(block.tokens for block in inside),
        is_approximate=any(block.tokens_source != "exact" for block in inside),
        first=reading.numbered(min(block.first for block in inside)),
        last=reading.numbered(max(block.last for block in inside)),
        calls=None,
        carried_tokens=sum(block.tokens * block.calls for block in inside),
        nano=sum(block.carried_nano for block in inside),
        left_by=ways.pop() if len(ways) == 1 else "mixed",
        url=reading.url(kind=kind) + "#ledger",
    )


def _row(reading: Reading, block: BlockRow) -> LedgerRow:
    is_definition = block.kind == "tool_definition" and block.name not in ("", "not recorded")
    return LedgerRow(
        kind=block.kind,
        kind_name=KINDS[block.kind],
        name=block.name or f"From turn {exact(reading.numbered(block.first))}",
        detail=block.detail,
        server=block.server,
        tokens=block.tokens,
        is_approximate=block.tokens_source != "exact",
        first=reading.numbered(block.first),
        last=reading.numbered(block.last),
        calls=block.calls,
        carried_tokens=block.tokens * block.calls,
        nano=block.carried_nano,
        left_by=LEFT_BY[block.left_by],
        url=links.event(reading.session.project.slug, block.event) if block.event else "",
        is_never_called=is_definition and block.name not in reading.called,
    )

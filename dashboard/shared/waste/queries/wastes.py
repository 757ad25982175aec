"""Reads waste with its tokens and dollars, which are parts of those of the turns that paid for it.

A call costs the part 1 / `share` of its turn, at what the turn costs now; a turn without a price, or one that
still runs, is counted as unpriced. Of a page as of an event, calls that ended after it are left out, and
waste without any other.

Cost: one query for any number of wastes, through the indexes on session, loop and turn. Amounts of a single
call are capped, so that absurdly large counts do not overflow 64 bits.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from dashboard.rendering.number_format import money, plural, tokens
from dashboard.shared.compiled_query import Value, aware, in_list, list_param, select
from dashboard.shared.waste.words import counted, label
from dashboard.web import links

LAST = 2**63 - 1  # a line after all others
ALTERNATING = "alternating"
NANO_MAX, TOKENS_MAX = 10**13, 10**12  # of one call: ten thousand dollars
TOKENS_OF_TURN = """t.cache_read_tokens + t.cache_write_tokens + CASE
WHEN t.unreconciled = 0 AND t.uncached_tokens IS NOT NULL AND t.visible_tokens IS NOT NULL
THEN t.uncached_tokens + t.visible_tokens + t.reasoning_tokens
WHEN t.reasoning_tokens > t.output_tokens THEN t.input_tokens + t.output_tokens + t.reasoning_tokens
ELSE t.input_tokens + t.output_tokens END"""  # as `dashboard.shared.queries.session_filter.TOKENS`


def capped(amount: str, most: int) -> str:
    """Return the SQL of the part of a call's turn that is waste; `c` is the call, `t` its turn."""
    return f"CASE WHEN {amount} > {most} THEN {most} ELSE {amount} END / c.share"


NANO, TOKENS = capped("t.cost_nano", NANO_MAX), capped(f"({TOKENS_OF_TURN})", TOKENS_MAX)
UNPRICED = "CASE WHEN t.id IS NULL OR t.cost_nano IS NULL OR t.unpriced > 0 THEN 1 ELSE 0 END"
_ROWS = f"""SELECT w.id, w.session, w.loop, w.agent_id, w.rule, w.name, w.times, w.first_line, w.last_line,
w.last_at, w.alarm_line, w.alarmed_at, COUNT(c.id),
SUM(CASE WHEN c.line <= %s THEN 1 ELSE 0 END),
SUM(CASE WHEN c.line <= %s THEN {TOKENS} END),
SUM(CASE WHEN c.line <= %s THEN {NANO} END),
SUM(CASE WHEN c.line <= %s THEN {UNPRICED} ELSE 0 END)
FROM recorder_waste w JOIN recorder_wastedcall c ON c.waste_id = w.id
LEFT JOIN recorder_turn t ON t.id = c.turn WHERE {{}} GROUP BY w.id"""  # noqa: S608  names


@dataclass(frozen=True, slots=True)
class Wasted:
    """The cost of waste: calls, tokens, nano-dollars (None if no call has a price), calls without a price."""

    calls: int = 0
    tokens: int = 0
    nano: int | None = None
    unpriced: int = 0

    def __add__(self, more: Wasted) -> Wasted:
        nano = None if self.nano is None and more.nano is None else (self.nano or 0) + (more.nano or 0)
        return Wasted(self.calls + more.calls, self.tokens + more.tokens, nano, self.unpriced + more.unpriced)

    @property
    def words(self) -> str:
        """Return tokens and dollars in words: "12.3k tokens, $0.04"."""
        return f"{tokens(self.tokens)} tokens, {money(self.nano, self.unpriced)}"


@dataclass(frozen=True, slots=True)
class WasteRow:
    """One waste with what it cost. `first_line` and `last_line` are ids of journal lines."""

    pk: int
    session: int
    loop: int
    agent: str
    rule: str
    name: str  # of the tool or the file
    times: int  # occurrences, the first included
    first_line: int
    last_line: int
    last_at: datetime
    alarm_line: int | None
    alarmed_at: datetime | None
    wasted: Wasted

    @property
    def label(self) -> str:
        return label(self.rule)

    @property
    def counted(self) -> str:
        """Return what happened how often: "same call 4 times"."""
        return counted(self.rule, self.times)

    @property
    def title(self) -> str:
        """Return what happened and what it cost: "bash: same call 4 times, 12.3k tokens, $0.04"."""
        return f"{self.name}: {self.words}" if self.name else self.words

    @property
    def words(self) -> str:
        return f"{self.counted}, {self.wasted.words}"


@dataclass(frozen=True, slots=True)
class Flag:
    """The waste of a loop, for a mark: the number of calls, and all of it in words."""

    calls: int
    title: str


NAMED = 4  # wastes that a mark names
NAME_SHOWN = 60  # characters


def of_session(session: int) -> list[WasteRow]:
    """Return the waste of a session, the dearest first, as of the event that its page is rendered for."""
    return dearest(read("w.session = %s", session))


def of_keys(pks: Collection[int]) -> Mapping[int, WasteRow]:
    """Return wastes by primary key."""
    return {row.pk: row for row in read(in_list("w.id"), list_param(pks))} if pks else {}


def of_loops(loops: Collection[int]) -> Mapping[int, Flag]:
    """Return the marks of loops that have waste."""
    if not loops:
        return {}
    rows_of: dict[int, list[WasteRow]] = {}
    for row in dearest(read(in_list("w.loop"), list_param(loops))):
        rows_of.setdefault(row.loop, []).append(row)
    return {loop: _flag(rows) for loop, rows in rows_of.items()}


def read(where: str, *values: Value) -> list[WasteRow]:
    """Return the wastes that match an SQL condition on `recorder_waste`, aliased `w`. One query."""
    at = links.as_of_event() or LAST
    rows = [_row(*row) for row in select(_ROWS.format(where), *[at] * 4, *values)]
    return [_then(row, at) for row in rows if row.wasted.calls]


def dearest(rows: Iterable[WasteRow]) -> list[WasteRow]:
    """Return wastes by dollars, then by tokens."""
    return sorted(rows, key=lambda row: (-(row.wasted.nano or 0), -row.wasted.tokens, row.pk))


def total(rows: Iterable[WasteRow]) -> Wasted:
    """Add up wastes: no call belongs to two."""
    whole = Wasted()
    for row in rows:
        whole += row.wasted
    return whole


def _row(*columns: Value) -> WasteRow:
    *head, last_at, alarm, alarmed_at, calls, seen, used, nano, unpriced = columns
    pk, session, loop, agent, rule, name, times, first, last = head
    return WasteRow(
        pk,
        session,
        loop,
        agent,
        rule,
        name,
        max(1, times - _later(rule, calls, seen)),
        first,
        last,
        aware(last_at),
        alarm,
        aware(alarmed_at),
        Wasted(seen, int(used or 0), None if nano is None else int(nano), unpriced),
    )


def _later(rule: str, calls: int, seen: int) -> int:
    """Return how many times of a waste came after `seen` of its calls."""
    return calls // 2 - seen // 2 if rule == ALTERNATING else calls - seen


def _then(row: WasteRow, at: int) -> WasteRow:
    """Return a waste as of an event: an alarm after it is left out."""
    is_later = row.alarm_line is not None and row.alarm_line > at
    return replace(row, alarm_line=None, alarmed_at=None) if is_later else row


def _flag(rows: Sequence[WasteRow]) -> Flag:
    named = [f"{row.name[:NAME_SHOWN]}: {row.words}" if row.name else row.words for row in rows[:NAMED]]
    more = [f"{plural(len(rows) - NAMED, 'more finding')}"] if len(rows) > NAMED else []
    return Flag(sum(row.wasted.calls for row in rows), "; ".join([*named, *more]))

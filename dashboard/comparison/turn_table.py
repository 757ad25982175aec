"""Table of the turns of branches or sessions: a row per aligned turn, equal rows, the first difference. Pure.

`align_turns` assigns turns to rows. A row is equal when every branch that counts has a turn there with the
same tools and arguments, or, without tools, the same text. A branch counts unless it has no turns at all or
is still running and has not reached the row. Cost: linear in the number of turns after the alignment.
Rows are formatted in chunks: a page renders one, and loads the others when the reader comes near them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import attrgetter
from zlib import crc32

from dashboard.comparison.align_turns import RowPlaces, rows
from dashboard.rendering.number_format import duration, money, tokens

ROWS = 400  # rows per page
CHUNK_CELLS = 120  # a chunk has as many rows as hold so many cells
TOOLS = 6  # tool names shown in a cell
MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True, slots=True)
class AlignedTurn:
    """One turn of a branch. `calls` are tools and hashes of their arguments; `says` is a hash of its text."""

    number: int
    calls: tuple[tuple[str, str], ...]
    says: str
    text: str  # one line: summaries of its calls, or its text
    failed_tools: int
    has_error: bool
    tokens: int
    cost: int | None  # nano-dollars
    duration_ms: int | None
    url: str = ""  # of the turn; "": it is a turn of its branch's loop

    @property
    def key(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        """Return the key for alignment: role, tools, normalised arguments."""
        return "assistant", self.calls

    def equals(self, other: AlignedTurn) -> bool:
        return self.key == other.key and (bool(self.calls) or self.says == other.says)


SHOWN = attrgetter(*AlignedTurn.__slots__)


@dataclass(frozen=True, slots=True)
class Branch:
    """The turns of a branch, and the URL of its loop. A session counts as one; its turns have own URLs."""

    steps: Sequence[AlignedTurn]
    url: str
    is_open: bool = False  # more turns may come


@dataclass(frozen=True, slots=True)
class Cell:
    """A turn beside the winner's of the same row."""

    url: str
    number: str  # its own number, where it differs from the row's
    tools: Sequence[tuple[str, int]]  # tool name and number of consecutive calls, the first TOOLS
    more_tools: int  # calls of the others
    text: str
    is_failed: bool
    is_same: bool
    took: str
    spent: str  # usage of the winner's turn; for other branches the difference to it


@dataclass(frozen=True, slots=True)
class AlignedRow:
    """Aligned turns; None where a branch has no turn."""

    number: str
    cells: Sequence[Cell | None]
    is_same: bool
    is_first_difference: bool
    skipped: int  # hidden equal rows before this one


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive rows of a page, from 1; only those of one chunk are formatted, the others have no `rows`.

    `version` is a checksum of what the rows show: equal versions have equal rows.
    """

    first: int
    last: int
    rows: Sequence[AlignedRow]
    version: str


@dataclass(frozen=True, slots=True)
class Table:
    """One page of rows. `first` and `last` are numbers from 1 to `total`."""

    chunks: Sequence[Chunk]
    first: int
    last: int
    total: int
    same: int  # number of rows that are equal in all branches
    parting: str  # number of the winner's turn where branches first differ; "": never
    parting_row: int  # first row of the chunk with that turn
    skipped: int  # hidden equal rows after the last shown row


def table(branches: Sequence[Branch], *, first: int = 1, is_only_differences: bool = False) -> Table:
    """Return the page that contains row `first`, its chunk formatted; the winner is the first branch."""
    aligned = _AlignedTurns(branches)
    listed = [n for n in range(len(aligned.places)) if not (is_only_differences and aligned.same[n])]
    start = (min(first, max(len(listed), 1)) - 1) // ROWS * ROWS
    shown = listed[start : start + ROWS]
    size = max(CHUNK_CELLS // max(len(branches), 1), 1)
    parting = aligned.parting
    return Table(
        chunks=_chunks(aligned, listed, range(start, start + len(shown), size), wanted=first),
        first=start + 1,
        last=start + len(shown),
        total=len(listed),
        same=sum(aligned.same),
        parting="" if parting is None else aligned.number(parting) or str(parting + 1),
        parting_row=1 if parting is None else _chunk_start(listed.index(parting), size) + 1,
        skipped=len(aligned.places) - 1 - shown[-1] if shown and start + ROWS >= len(listed) else 0,
    )


def _chunk_start(row: int, size: int) -> int:
    """Return the first row of the chunk with a row, both from 0; chunks begin anew on each page."""
    return row - row % ROWS % size


def _chunks(aligned: _AlignedTurns, listed: Sequence[int], starts: range, *, wanted: int) -> Sequence[Chunk]:
    page_end = min(starts.start + ROWS, len(listed))
    wanted = min(max(wanted, starts.start + 1), page_end)
    chunks = []
    for start, end in pairwise((*starts, page_end)):
        places = listed[start:end]
        before = listed[start - 1] if start else -1
        rows = (
            [aligned.row(n, n - last - 1) for last, n in pairwise((before, *places))]
            if start < wanted <= end
            else []
        )
        chunks.append(Chunk(start + 1, end, rows, aligned.checksum(before, places)))
    return chunks


class _AlignedTurns:
    """All turns of the branches, assigned to rows."""

    def __init__(self, branches: Sequence[Branch]) -> None:
        self.branches = branches
        self.places: Sequence[RowPlaces] = rows([[step.key for step in branch.steps] for branch in branches])
        self._ends = [self._last_row(n) for n in range(len(branches))]
        compared = [self._compared_steps(n) for n in range(len(self.places))]
        is_equal = [_is_equal_row(steps) for steps in compared]
        self.same = [len(steps) > 1 and is_equal[n] for n, steps in enumerate(compared)]
        # The first row in which branches differ.
        self.parting = is_equal.index(False) if False in is_equal else None

    def number(self, n: int) -> str:
        place = self.places[n][0]
        return "" if place is None else str(place + 1)

    def row(self, n: int, skipped: int) -> AlignedRow:
        steps = list(self._steps(n))
        number = self.number(n)
        cells = [
            None if step is None else _cell(step, branch.url, number, steps[0], is_winner=at == 0)
            for at, (step, branch) in enumerate(zip(steps, self.branches, strict=True))
        ]
        return AlignedRow(number, cells, self.same[n], n == self.parting, skipped)

    def checksum(self, before: int, places: Sequence[int]) -> str:
        """Return a checksum of what rows show, and of the number of rows hidden before them."""
        shown = [
            (n, self.same[n], n == self.parting, *(step and SHOWN(step) for step in self._steps(n)))
            for n in places
        ]
        return f"{crc32(repr((before, shown)).encode()):x}"

    def _steps(self, n: int) -> Iterator[AlignedTurn | None]:
        for branch, place in zip(self.branches, self.places[n], strict=True):
            yield None if place is None else branch.steps[place]

    def _compared_steps(self, n: int) -> Sequence[AlignedTurn | None]:
        """Return the cells of a row that count; branches without turns, or not there yet, do not."""
        cells = zip(self._steps(n), self.branches, self._ends, strict=True)
        return [step for step, branch, end in cells if branch.steps and not (branch.is_open and n > end)]

    def _last_row(self, branch: int) -> int:
        return max((n for n, row in enumerate(self.places) if row[branch] is not None), default=-1)


def _is_equal_row(compared: Sequence[AlignedTurn | None]) -> bool:
    first, *others = compared
    return all(first is not None and step is not None and step.equals(first) for step in others)


def _cell(step: AlignedTurn, url: str, row: str, beside: AlignedTurn | None, *, is_winner: bool) -> Cell:
    tools = [(name, len(list(same))) for name, same in groupby(name for name, _ in step.calls)]
    return Cell(
        url=step.url or f"{url}?turn={step.number}#turn-{step.number}",
        number="" if str(step.number) == row else f"turn {step.number}",
        tools=tools[:TOOLS],
        more_tools=sum(times for _, times in tools[TOOLS:]),
        text=step.text,
        is_failed=step.has_error or step.failed_tools > 0,
        is_same=not is_winner and beside is not None and step.equals(beside),
        took=duration(step.duration_ms),
        spent=_absolute_usage(step) if beside is None or is_winner else _usage_difference(step, beside),
    )


def _absolute_usage(step: AlignedTurn) -> str:
    parts = [f"{tokens(step.tokens)} tokens" if step.tokens else "", money(step.cost) if step.cost else ""]
    return ", ".join(filter(None, parts))


def _usage_difference(step: AlignedTurn, beside: AlignedTurn) -> str:
    """Return usage relative to the winner's turn, signed."""
    parts = [signed(step.tokens - beside.tokens, lambda n: f"{tokens(n)} tokens")]
    if step.cost is not None and beside.cost is not None:
        parts.append(signed(step.cost - beside.cost, money))
    if step.duration_ms is not None and beside.duration_ms is not None:
        parts.append(signed(step.duration_ms - beside.duration_ms, duration))
    return ", ".join(filter(None, parts))


def signed(count: int, form: Callable[[int], str]) -> str:
    """Format a difference with its sign; "" for 0."""
    return f"{'+' if count > 0 else MINUS}{form(abs(count))}" if count else ""

"""Turns of branches as the rows of a table: what each did, what is the same, where ways part. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from dashboard.pages.evaluations.align_turns import Places, rows
from dashboard.rendering.number_format import duration, money, tokens

ROWS = 400  # of a page
MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True, slots=True)
class Step:
    """One turn of a branch. `calls` are tools and keys of their arguments; `says` is a key of its text."""

    number: int
    calls: tuple[tuple[str, str], ...]
    says: str
    text: str  # one line of what it did or said
    failed_tools: int
    has_error: bool
    tokens: int
    cost: int | None  # nano-dollars
    duration_ms: int | None

    @property
    def key(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        """Return what turns are aligned by: role, tools, normalised arguments."""
        return "assistant", self.calls

    def does_as(self, other: Step) -> bool:
        return self.key == other.key and (bool(self.calls) or self.says == other.says)


@dataclass(frozen=True, slots=True)
class Branch:
    """The turns of a branch, and where they are shown."""

    steps: Sequence[Step]
    url: str  # of its loop
    is_open: bool = False  # more turns may come


@dataclass(frozen=True, slots=True)
class Cell:
    """A turn beside the winner's of the same row."""

    url: str
    number: str  # its own, where it is not the row's
    tools: Sequence[tuple[str, int]]  # and how often, one after the other
    text: str
    is_failed: bool
    is_same: bool
    took: str
    spent: str  # the winner's own figures; of others what it is more or less


@dataclass(frozen=True, slots=True)
class Row:
    """Turns that stand beside each other; where a branch has none, there is a gap."""

    number: str
    cells: Sequence[Cell | None]
    is_same: bool
    is_first_difference: bool
    skipped: int  # equal rows before it that are not shown


@dataclass(frozen=True, slots=True)
class Table:
    """A page of the rows. `first` and `last` count from 1 among `total`."""

    rows: Sequence[Row]
    first: int
    last: int
    total: int
    same: int  # rows that are equal in all branches
    parting: str  # the winner's turn at which ways part first; "" when they never do
    parting_row: int  # where its page begins
    skipped: int  # equal rows after the last one that is shown


def table(branches: Sequence[Branch], *, first: int = 1, is_only_differences: bool = False) -> Table:
    """Return the rows from the page on that holds row `first`; the winner's branch comes first."""
    laid = _Laid(branches)
    listed = [n for n in range(len(laid.places)) if not (is_only_differences and laid.same[n])]
    start = (min(first, max(len(listed), 1)) - 1) // ROWS * ROWS
    shown = listed[start : start + ROWS]
    before = listed[start - 1] if start else -1
    parting = laid.parting
    return Table(
        rows=[laid.row(n, n - last - 1) for last, n in zip((before, *shown), shown, strict=False)],
        first=start + 1,
        last=start + len(shown),
        total=len(listed),
        same=sum(laid.same),
        parting="" if parting is None else laid.number(parting) or str(parting + 1),
        parting_row=1 if parting is None else listed.index(parting) // ROWS * ROWS + 1,
        skipped=len(laid.places) - 1 - shown[-1] if shown and start + ROWS >= len(listed) else 0,
    )


class _Laid:
    """All turns in their rows."""

    def __init__(self, branches: Sequence[Branch]) -> None:
        self.branches = branches
        self.places: Sequence[Places] = rows([[step.key for step in each.steps] for each in branches])
        self._ends = [self._last_row(n) for n in range(len(branches))]
        self._alike = [self._is_alike(n) for n in range(len(self.places))]
        self.same = [alike and len(self._looked_at(n)) > 1 for n, alike in enumerate(self._alike)]

    @property
    def parting(self) -> int | None:
        """Return the first row in which branches differ."""
        return next((n for n, alike in enumerate(self._alike) if not alike), None)

    def number(self, n: int) -> str:
        place = self.places[n][0]
        return "" if place is None else str(place + 1)

    def row(self, n: int, skipped: int) -> Row:
        steps = list(self._steps(n))
        number = self.number(n)
        cells = [
            None if step is None else _cell(step, branch.url, number, steps[0], is_winner=at == 0)
            for at, (step, branch) in enumerate(zip(steps, self.branches, strict=True))
        ]
        return Row(number, cells, self.same[n], n == self.parting, skipped)

    def _steps(self, n: int) -> Iterator[Step | None]:
        for branch, place in zip(self.branches, self.places[n], strict=True):
            yield None if place is None else branch.steps[place]

    def _looked_at(self, n: int) -> Sequence[Step | None]:
        """Return what of a row counts: not the gap of a branch that has no turn, or none so far."""
        every = zip(self._steps(n), self.branches, self._ends, strict=True)
        return [step for step, branch, end in every if branch.steps and not (branch.is_open and n > end)]

    def _is_alike(self, n: int) -> bool:
        first, *others = self._looked_at(n)
        return all(first is not None and step is not None and step.does_as(first) for step in others)

    def _last_row(self, branch: int) -> int:
        return max((n for n, row in enumerate(self.places) if row[branch] is not None), default=-1)


def _cell(step: Step, url: str, row: str, beside: Step | None, *, is_winner: bool) -> Cell:
    return Cell(
        url=f"{url}?turn={step.number}#turn-{step.number}",
        number="" if str(step.number) == row else f"turn {step.number}",
        tools=[(name, len(list(same))) for name, same in groupby(name for name, _ in step.calls)],
        text=step.text,
        is_failed=step.has_error or step.failed_tools > 0,
        is_same=not is_winner and beside is not None and step.does_as(beside),
        took=duration(step.duration_ms),
        spent=_own(step) if beside is None or is_winner else _more(step, beside),
    )


def _own(step: Step) -> str:
    said = [f"{tokens(step.tokens)} tokens" if step.tokens else "", money(step.cost) if step.cost else ""]
    return ", ".join(filter(None, said))


def _more(step: Step, beside: Step) -> str:
    """Say what a turn took more, or less, than the winner's."""
    said = [_signed(step.tokens - beside.tokens, lambda n: f"{tokens(n)} tokens")]
    if step.cost is not None and beside.cost is not None:
        said.append(_signed(step.cost - beside.cost, money))
    if step.duration_ms is not None and beside.duration_ms is not None:
        said.append(_signed(step.duration_ms - beside.duration_ms, duration))
    return ", ".join(filter(None, said))


def _signed(count: int, say: Callable[[int], str]) -> str:
    return f"{'+' if count > 0 else MINUS}{say(abs(count))}" if count else ""

"""The section "Turn by turn" of a page: its table, with the links to other rows and modes. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from dashboard.comparison.turn_table import ROWS, Chunk, Table

LEAST, MOST = 2, 4  # sessions, or loops of one, that can be compared


class Link(Protocol):
    """Return the query string of the same page from another row, or in another mode."""

    def __call__(self, *, row: int = ..., is_only_differences: bool = ...) -> str: ...


@dataclass(frozen=True, slots=True)
class Choice:
    """One option of a switch."""

    words: str
    url: str
    is_on: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSection:
    """The turns of branches, sessions or loops side by side; root of comparison/turns.html and rows.html."""

    table: Table
    what: Literal["branch", "session", "loop"]
    count: int  # of columns
    is_only_differences: bool
    link: Link

    @property
    def columns(self) -> int:
        return self.count + 1

    @property
    def chunks(self) -> Sequence[tuple[Chunk, str]]:
        """Return the chunks, each with the query string of the page that renders it."""
        return [(chunk, self.link(row=chunk.first)) for chunk in self.table.chunks]

    @property
    def several(self) -> str:
        return {"branch": "branches", "session": "sessions", "loop": "loops"}[self.what]

    @property
    def extents(self) -> Sequence[Choice]:
        """Return the modes of the table."""
        only = self.is_only_differences
        return [
            Choice("All turns", self.link(is_only_differences=False, row=1) + "#turns", not only),
            Choice("Only differences", self.link(is_only_differences=True, row=1) + "#turns", only),
        ]

    @property
    def parting_url(self) -> str:
        return self.link(row=self.table.parting_row) + "#divergence"

    @property
    def earlier(self) -> str:
        first = self.table.first
        return self.link(row=max(first - ROWS, 1)) + "#turns" if first > 1 else ""

    @property
    def later(self) -> str:
        last = self.table.last
        return self.link(row=last + 1) + "#turns" if last < self.table.total else ""

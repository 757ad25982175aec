"""Columns of a list: which exist, which are chosen and in which order, and the form that chooses them.

The parameter `cols` has the names of the chosen columns, separated by commas, or repeated as a form sends it.
The first column, with the link to the record, is always there. Without the parameter the list is as usual.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from dashboard.web.filters import hidden
from dashboard.web.lists.address import COLUMNS, SORT, ListAddress
from dashboard.web.query_params import Reading


@dataclass(frozen=True, slots=True)
class Column:
    """One column; its cells are drawn by the row's partial under its name."""

    name: str
    label: str
    is_right: bool = False
    title: str = ""
    sort: str = ""  # value of the parameter sort that orders by it, ascending
    is_usual: bool = True  # part of the list when no columns are chosen


@dataclass(frozen=True, slots=True)
class Header:
    """The head of a column; `order` is "ascending", "descending" or "". `url` sorts by it."""

    column: Column
    order: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """A column in the form: a checkbox, and links that move a chosen one."""

    column: Column
    is_on: bool
    earlier: str  # "" at the start, or if it is not chosen
    later: str


@dataclass(frozen=True, slots=True)
class ColumnsForm:
    """The form that chooses columns; `usual` is the link to the list without a choice."""

    choices: Sequence[Choice]
    hidden: Sequence[tuple[str, str]]
    path: str
    usual: str
    is_chosen: bool


@dataclass(frozen=True)
class Columns:
    """The columns of a list; `first` is its first one, which is no choice."""

    first: str
    all: Sequence[Column]

    @cached_property
    def by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.all}

    @cached_property
    def usual(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.all if column.is_usual)

    def read(self, read: Reading) -> tuple[str, ...]:
        """Return the chosen columns; () if they are the usual ones. Unknown names become notes."""
        kept: list[str] = []
        names = (name.strip() for value in read.all(COLUMNS) for name in value.split(","))
        for name in dict.fromkeys(filter(None, names)):
            if name in self.by_name:
                kept.append(name)
            elif name != self.first:
                read.ignore(COLUMNS, name, "there is no such column")
        return () if tuple(kept) == self.usual else tuple(kept)

    def shown(self, cols: Sequence[str]) -> tuple[str, ...]:
        """Return the names of the columns of an address."""
        return tuple(cols) or self.usual

    def headers(
        self, cols: Sequence[str], sort: str = "", address: ListAddress | None = None
    ) -> list[Header]:
        """Return the heads of the columns after the first; with an address they are links that sort."""
        return [self._header(self.by_name[name], sort, address) for name in self.shown(cols)]

    def _header(self, column: Column, sort: str, address: ListAddress | None) -> Header:
        order = _order(column, sort)
        if address is None or not column.sort:
            return Header(column, order)
        wanted = column.sort if order == "descending" else f"-{column.sort}"
        return Header(column, order, address.but(**{SORT: wanted}).query or "?")

    def form(self, address: ListAddress, path: str) -> ColumnsForm:
        """Return the form; chosen columns come first, in their order."""
        shown = self.shown(address.cols)
        others = [column.name for column in self.all if column.name not in shown]
        return ColumnsForm(
            choices=[
                *(self._chosen(address, shown, at) for at in range(len(shown))),
                *(Choice(self.by_name[name], is_on=False, earlier="", later="") for name in others),
            ],
            hidden=hidden(address, (COLUMNS,)),
            path=path,
            usual=address.but(cols=()).query,
            is_chosen=bool(address.cols),
        )

    def _chosen(self, address: ListAddress, shown: Sequence[str], at: int) -> Choice:
        return Choice(
            self.by_name[shown[at]],
            is_on=True,
            earlier=self._swapped(address, shown, at - 1) if at else "",
            later=self._swapped(address, shown, at) if at < len(shown) - 1 else "",
        )

    def _swapped(self, address: ListAddress, shown: Sequence[str], at: int) -> str:
        names: Iterable[str] = (*shown[:at], shown[at + 1], shown[at], *shown[at + 2 :])
        cols = tuple(names)
        return address.but(cols=() if cols == self.usual else cols).query


def _order(column: Column, sort: str) -> str:
    if not column.sort or sort.removeprefix("-") != column.sort:
        return ""
    return "descending" if sort.startswith("-") else "ascending"

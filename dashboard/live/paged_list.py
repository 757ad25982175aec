"""Lists page by page: which rows a page holds, where among how many, and what waits above them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from django.db.models import Model, QuerySet
from django.utils import timezone

from dashboard.live.panel import Panel
from dashboard.web import links
from dashboard.web.keyset import RECORDED, Cursor, Order
from dashboard.web.query_params import Address, whole_number

if TYPE_CHECKING:
    from django.http import QueryDict

    from dashboard.live.viewer import DirtyPanels
    from recorder.pubsub.invalidation import Invalidation

PAGE = 50
COUNT_MAX = 10_000
ROWS_MAX = 100  # that a socket may ask for; a page shows fewer

M = TypeVar("M", bound=Model)


@dataclass(frozen=True, slots=True)
class Count:
    """A number of rows; of more than `most` only that is known."""

    value: int
    most: int = COUNT_MAX

    @property
    def text(self) -> str:
        return f"{self.most:,}+" if self.value > self.most else f"{self.value:,}"


def count(rows: QuerySet[M], most: int = COUNT_MAX) -> Count:
    """Count rows without reading more than anyone wants to know."""
    return Count(rows.order_by()[: most + 1].count(), most)


def newest(every: QuerySet[M]) -> int:
    """Return the last row recorded, 0 before the first; later ones wait above the list."""
    return every.order_by("-pk").values_list("pk", flat=True).first() or 0


class Paged(Protocol):
    """What an address asks a list for; of the two cursors one is followed."""

    @property
    def before(self) -> Cursor | None: ...
    @property
    def after(self) -> Cursor | None: ...
    def but(self, **changes: Any) -> Address: ...


@dataclass(frozen=True, slots=True)
class Listing:
    """One page of a list; links are query strings, "" at an end."""

    pks: tuple[int, ...]
    total: Count
    above: Count  # rows on the pages before this one
    newer: str
    older: str

    @property
    def first(self) -> str:
        return f"{self.above.value + 1:,}" if self.above.value <= COUNT_MAX else self.above.text

    @property
    def last(self) -> str:
        return f"{self.above.value + len(self.pks):,}" if self.above.value <= COUNT_MAX else ""


def listing(wanted: QuerySet[M], asked: Paged, order: Order = RECORDED) -> Listing:
    """Return the page of the wanted rows that is asked for. One to four queries."""
    page = order.page(wanted, PAGE, older=asked.before, newer=asked.after)
    ends = page.cursors
    is_whole = not page.has_newer and not page.has_older
    return Listing(
        pks=tuple(cursor.pk for cursor in ends),
        total=Count(len(ends)) if is_whole else count(wanted),
        above=count(order.backwards.after(wanted, ends[0])) if page.has_newer else Count(0),
        newer=asked.but(after=ends[0]).query if page.has_newer else "",
        older=asked.but(before=ends[-1]).query if page.has_older else "",
    )


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """What a list is of, and how an open one stays up to date."""

    page: str  # and its socket
    what: str  # one row, in words
    matching: Callable[[int, Any, datetime], QuerySet[Any]]  # rows of a project, asked for at a time
    rows: Callable[[int, Collection[int]], Mapping[int, object]]  # of a project, as they are shown
    sessions: Callable[[Collection[int]], Mapping[int, int]]  # of rows: a bell says which sessions moved
    comes_with: Callable[[Invalidation], Any]  # whether there may be new ones
    rows_ms: int = 0
    strip_ms: int = 0


@dataclass(frozen=True, slots=True)
class Fresh:
    """How many new rows wait; root of the panel _shared/new-items."""

    count: Count
    what: str
    url: str


@lru_cache(maxsize=256)
def row_panel(of: Kind, project: int) -> Panel:
    """Return the rows of one project: one of another is to its pages as one that is gone."""
    return Panel(f"{of.page}/row", partial(of.rows, project), of.rows_ms)


@lru_cache(maxsize=256)
def strip_panel(of: Kind, project: int, asked: Address) -> Panel:
    """Return the strip of new rows; its key is the last row that the page knows."""
    return Panel("_shared/new-items", partial(_fresh, of, project, asked), of.strip_ms)


def _fresh(of: Kind, project: int, asked: Address, known: Collection[int]) -> Mapping[int, Fresh]:
    matching = of.matching(project, asked, timezone.now())
    return {pk: Fresh(count(matching.filter(pk__gt=pk)), of.what, asked.query) for pk in known}


@dataclass(frozen=True, slots=True)
class Drawn:
    """The HTML of an open list's panels."""

    rows: Sequence[str]
    strip: str


@dataclass(frozen=True, slots=True)
class OpenList:
    """An open list: what was asked for, the rows it shows and the last one it knows of."""

    of: Kind
    project: int
    asked: Address
    rows: tuple[int, ...]
    newest: int
    sessions: Mapping[int, int]

    @classmethod
    def opened(cls, of: Kind, project: int, asked: Address, rows: tuple[int, ...], newest: int) -> OpenList:
        """Return it with the sessions of its rows; which page of the list they are does not matter."""
        return cls(of, project, asked.but(), rows, newest, of.sessions(rows))

    @classmethod
    def reopened(cls, of: Kind, project: int, asked: Address, params: QueryDict) -> OpenList:
        """Return what a socket's URL stands for; numbers that are none are left out."""
        rows = [whole_number(word) for word in params.get("rows", "").split(".")[:ROWS_MAX]]
        newest = whole_number(params.get("newest", "")) or 0
        return cls.opened(of, project, asked, tuple(pk for pk in rows if pk), newest)

    def socket(self, slug: str) -> str:
        """Return the socket's URL, so that a reconnect redraws exactly what the page shows."""
        rows = ".".join(map(str, self.rows))
        return links.live(slug, self.of.page, **self.asked.pairs(), rows=rows, newest=self.newest)

    def dirty_panels(self, touched: Invalidation | None) -> DirtyPanels:
        """Return the rows and the strip, those that a bell made dirty."""
        if touched is None:
            return [(self._row, list(self.rows)), (self._strip, [self.newest])]
        moved = [pk for pk in self.rows if self.sessions.get(pk) in touched.sessions]
        strip = [(self._strip, [self.newest])] if self.of.comes_with(touched) else []
        return [(self._row, moved), *strip]

    def draw(self) -> Drawn:
        """Draw the panels as the socket would."""
        rows, strip = self._row.draw(self.rows), self._strip.draw([self.newest])
        return Drawn([rows[pk] for pk in self.rows if pk in rows], strip[self.newest])

    @property
    def _row(self) -> Panel:
        return row_panel(self.of, self.project)

    @property
    def _strip(self) -> Panel:
        return strip_panel(self.of, self.project, self.asked)

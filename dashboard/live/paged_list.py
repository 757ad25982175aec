"""Live lists in keyset pages: the rows of a page, their position, and the count of new rows above them.

Rows that are recorded later do not move the page; a strip above the list counts them and links to them. Each
row is a panel. Counts stop at `COUNT_MAX`, so a list costs the same however large the project is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from django.db.models import Model, QuerySet
from django.utils import timezone

from dashboard.live.panel import CachedQuery, Panel
from dashboard.web import links
from dashboard.web.keyset import RECORDED, Cursor, Order
from dashboard.web.lists.address import ListAddress
from dashboard.web.lists.columns import Columns
from dashboard.web.query_params import Address, whole_number

if TYPE_CHECKING:
    from django.http import QueryDict

    from dashboard.live.viewer import DirtyPanels
    from recorder.pubsub.invalidation import Invalidation

PAGE = 50
COUNT_MAX = 10_000
ROWS_MAX = 100  # rows in a socket's URL; a page shows fewer

M = TypeVar("M", bound=Model)


@dataclass(frozen=True, slots=True)
class Count:
    """A number of rows, exact up to `most`; larger numbers are shown as "10,000+"."""

    value: int
    most: int = COUNT_MAX

    @property
    def text(self) -> str:
        return f"{self.most:,}+" if self.value > self.most else f"{self.value:,}"


def count(rows: QuerySet[M], most: int = COUNT_MAX) -> Count:
    """Count rows, reading at most `most` + 1."""
    return Count(rows.order_by()[: most + 1].count(), most)


def newest(every: QuerySet[M]) -> int:
    """Return the primary key of the last recorded row, 0 without rows; later rows count as new."""
    return every.order_by("-pk").values_list("pk", flat=True).first() or 0


class Paged(Protocol):
    """The cursors of an address; `after` takes precedence."""

    @property
    def before(self) -> Cursor | None: ...
    @property
    def after(self) -> Cursor | None: ...
    def but(self, **changes: Any) -> Address: ...


@dataclass(frozen=True, slots=True)
class Listing:
    """One page of a list; `newer` and `older` are query strings of links, "" at an end."""

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


def listing(rows: QuerySet[M], address: Paged, order: Order = RECORDED) -> Listing:
    """Return the page of `rows` that the address selects, at most `PAGE` rows. One to four queries."""
    page = order.page(rows, PAGE, older=address.before, newer=address.after)
    ends = page.cursors
    is_whole = not page.has_newer and not page.has_older
    return Listing(
        pks=tuple(cursor.pk for cursor in ends),
        total=Count(len(ends)) if is_whole else count(rows),
        above=count(order.backwards.after(rows, ends[0])) if page.has_newer else Count(0),
        newer=address.but(after=ends[0]).query if page.has_newer else "",
        older=address.but(before=ends[-1]).query if page.has_older else "",
    )


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """The definition of a live list."""

    page: str  # name of the page and of its socket
    what: str  # one row, in words
    matching: Callable[[int, Any, datetime], QuerySet[Any]]  # project, filters, now -> rows
    rows: Callable[..., Mapping[int, object]]  # project, keys, columns= -> roots of the row panels
    sessions: Callable[[Collection[int]], Mapping[int, int]]  # session by row: invalidations name sessions
    comes_with: Callable[[Invalidation], Any]  # truthy if the invalidation may have added rows
    is_cached: bool = False  # the root of a row is a `dashboard.live.panel.Source` with its key as `pk`
    rows_ms: int = 0
    columns: Columns | None = None  # what a person can choose; without, `rows` takes no columns
    strip_ms: int = 0


@dataclass(frozen=True, slots=True)
class Fresh:
    """The number of new rows; root of the panel _shared/new-items."""

    count: Count
    what: str
    url: str


@lru_cache(maxsize=256)
def row_panel(of: Kind, project: int, cols: tuple[str, ...] = (), within: Address | None = None) -> Panel:
    """Return the panel of a project's rows; a row of another project counts as deleted.

    So does a row that does not match `within`, if that is given. One query more.
    """
    rows = partial(of.rows, project)
    if of.columns:
        rows = partial(rows, columns=of.columns.shown(cols))
    if within is not None:
        rows = partial(_rows_within, of, project, within, rows)
    name = f"{of.page}/row"
    query = CachedQuery(name, rows, lambda roots: {root.pk: root for root in roots}) if of.is_cached else rows
    return Panel(name, query, of.rows_ms)


def matching_rows(of: Kind, project: int, address: Address, pks: Collection[int]) -> tuple[int, ...]:
    """Return those of some rows that match an address now, in their order. One query."""
    rows = of.matching(project, address, timezone.now()).filter(pk__in=pks)
    found = set(rows.order_by().values_list("pk", flat=True)) if pks else set()
    return tuple(pk for pk in pks if pk in found)


def _rows_within(
    of: Kind,
    project: int,
    address: Address,
    rows: Callable[[Collection[int]], Mapping[int, object]],
    pks: Collection[int],
) -> Mapping[int, object]:
    return rows(matching_rows(of, project, address, pks))


@lru_cache(maxsize=256)
def strip_panel(of: Kind, project: int, address: Address) -> Panel:
    """Return the strip of new rows; its key is the newest row when the page was opened."""
    return Panel("_shared/new-items", partial(_fresh, of, project, address), of.strip_ms)


def _fresh(of: Kind, project: int, address: Address, newest_pks: Collection[int]) -> Mapping[int, Fresh]:
    matching = of.matching(project, address, timezone.now())
    return {pk: Fresh(count(matching.filter(pk__gt=pk)), of.what, address.query) for pk in newest_pks}


@dataclass(frozen=True, slots=True)
class Drawn:
    """The HTML of an open list's panels."""

    rows: Sequence[str]
    strip: str


@dataclass(frozen=True, slots=True)
class OpenList:
    """An open list: its address, the rows it shows, and the newest row when it was opened."""

    of: Kind
    project: int
    address: Address
    rows: tuple[int, ...]
    newest: int
    sessions: Mapping[int, int]
    is_strict: bool = False  # only rows that match the address are shown, also later

    @classmethod
    def opened(cls, of: Kind, project: int, address: Address, rows: tuple[int, ...], newest: int) -> OpenList:
        """Return the open list of a page; the cursor is dropped, as its rows are listed. One query."""
        return cls(of, project, address.but(), rows, newest, of.sessions(rows))

    @classmethod
    def reopened(cls, of: Kind, project: int, address: Address, params: QueryDict) -> OpenList:
        """Return the open list of a socket's URL; invalid numbers are ignored."""
        rows = [whole_number(word) for word in params.get("rows", "").split(".")[:ROWS_MAX]]
        newest = whole_number(params.get("newest", "")) or 0
        return cls.opened(of, project, address, tuple(pk for pk in rows if pk), newest)

    @classmethod
    def reopened_strictly(cls, of: Kind, project: int, address: Address, params: QueryDict) -> OpenList:
        """Return the open list of a socket's URL, of which only rows that match the address are shown.

        For readers who may see nothing else: the URL names rows, and a row may change until it no longer
        matches. Two queries.
        """
        given = cls.reopened(of, project, address, params)
        rows = matching_rows(of, project, given.address, given.rows)
        return replace(given, rows=rows, is_strict=True)

    def socket(self, slug: str) -> str:
        """Return the socket's URL, so that a reconnect redraws exactly what the page shows."""
        rows = ".".join(map(str, self.rows))
        return links.live(slug, self.of.page, **self.address.pairs(), rows=rows, newest=self.newest)

    def dirty_panels(self, touched: Invalidation | None) -> DirtyPanels:
        """Return the rows whose sessions were touched, and the strip if there may be new rows."""
        if touched is None:
            return [(self._row, list(self.rows)), (self._strip, [self.newest])]
        moved = [pk for pk in self.rows if self.sessions.get(pk) in touched.sessions]
        strip = [(self._strip, [self.newest])] if self.of.comes_with(touched) else []
        return [(self._row, moved), *strip]

    def draw(self) -> Drawn:
        """Render the panels as the socket does."""
        rows, strip = self._row.draw(self.rows), self._strip.draw([self.newest])
        return Drawn([rows[pk] for pk in self.rows if pk in rows], strip[self.newest])

    @property
    def within(self) -> Address | None:
        """The conditions that rows must match to be shown, None if any row may be."""
        return self.address if self.is_strict else None

    @property
    def _row(self) -> Panel:
        cols = self.address.cols if isinstance(self.address, ListAddress) else ()
        return row_panel(self.of, self.project, cols, self.within)

    @property
    def _strip(self) -> Panel:
        return strip_panel(self.of, self.project, self.address)

"""Which rows a page of the list holds, where among how many, and the links on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from dashboard.keyset import Cursor
from dashboard.search import matching
from dashboard.sessions.filters import Filters
from dashboard.sessions.queries.counts import COUNT_MAX, Count, count
from recorder.models import Session

PAGE = 50


@dataclass(frozen=True, slots=True)
class Listing:
    """One page of the list: which rows, where among how many, and the links on."""

    pks: tuple[int, ...]
    newest: int  # the last session recorded; later ones wait behind the strip
    total: Count
    before: Count  # rows on the pages before this one
    newer: str  # query strings, "" at an end
    older: str

    @property
    def first(self) -> str:
        return f"{self.before.value + 1:,}" if self.before.value <= COUNT_MAX else self.before.text

    @property
    def last(self) -> str:
        if self.before.value > COUNT_MAX:
            return ""
        return f"{self.before.value + len(self.pks):,}"


def listing(project: int, filters: Filters, now: datetime) -> Listing:
    """Return a page of the list."""
    newest = Session.objects.filter(project=project).order_by("-pk").values_list("pk", flat=True).first() or 0
    wanted = matching(project, filters.wanted(now))
    page = _page(wanted, filters)
    is_first = not page.is_later
    is_whole = is_first and not page.has_older
    ahead = wanted if is_first else filters.order.backwards.after(wanted, page.cursors[0])
    return Listing(
        pks=tuple(cursor.pk for cursor in page.cursors),
        newest=newest,
        total=Count(len(page.cursors)) if is_whole else count(wanted),
        before=Count(0) if is_first else count(ahead),
        newer=page.link(filters, "after", 0) if page.is_later else "",
        older=page.link(filters, "before", -1) if page.has_older else "",
    )


@dataclass(frozen=True, slots=True)
class _Page:
    cursors: list[Cursor]
    is_later: bool  # rows come before it
    has_older: bool

    def link(self, filters: Filters, side: str, end: int) -> str:
        return filters.but(**{side: self.cursors[end]}).query


def _page(wanted: QuerySet[Session], filters: Filters) -> _Page:
    order = filters.order
    if filters.after:
        back = order.backwards
        found = back.cursors(back.sort(back.after(wanted, filters.after)), PAGE + 1)
        if len(found) > PAGE:
            return _Page(found[:PAGE][::-1], is_later=True, has_older=True)
    elif filters.before:
        found = order.cursors(order.sort(order.after(wanted, filters.before)), PAGE + 1)
        if found:
            return _Page(found[:PAGE], is_later=True, has_older=len(found) > PAGE)
    found = order.cursors(order.sort(wanted), PAGE + 1)
    return _Page(found[:PAGE], is_later=False, has_older=len(found) > PAGE)

"""Query strings of list pages: beside its own parameters, a list has chosen columns and maybe a saved view.

The address is always enough: it holds the whole query, and `view` only names the saved view that the query is
compared with. In a view it has the parameter q, if only an empty one: with `view` alone it opens the view.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self
from urllib.parse import urlencode

from django.http import QueryDict

from dashboard.web.lists.pages import PAGES
from dashboard.web.query_params import Address, Reading, whole_number
from recorder.access.saved_views import Content

if TYPE_CHECKING:
    from dashboard.web.links import Value

VIEW, COLUMNS, SORT, WORDS = "view", "cols", "sort", "q"
PAGING = ("before", "after", "cursor", "limit", "rows", "newest")
_PARAMETER = r'[^\s:<>"()\[\]=&]+=[^&]*'
_QUERY_STRING = re.compile(rf"\??({_PARAMETER})(&{_PARAMETER})*")


@dataclass(frozen=True, slots=True)
class ListAddress(Address):
    """The query string of a list page."""

    saved: str = ""  # key of the saved view that the page was opened with
    cols: tuple[str, ...] = ()  # chosen columns in their order; empty for the default table
    reader: int = 0  # the user, if the rows differ by who reads them; never in an address

    @classmethod
    def parse(cls, params: QueryDict) -> Self:
        """Parse a query string."""
        raise NotImplementedError

    def pairs(self) -> dict[str, Value]:
        """Return names and values of the parameters that differ from their defaults."""
        pairs = Address.pairs(self)
        saved = pairs.pop("saved", None)
        pairs.pop("reader", None)
        if self.cols:
            pairs[COLUMNS] = ",".join(self.cols)
        if saved:
            pairs.setdefault(WORDS, "")
            tab = pairs.pop(VIEW, None)
            pairs[VIEW] = (str(tab), str(saved)) if tab else str(saved)
        return pairs

    @property
    def plain(self) -> Self:
        """Return the filters alone: the list's start, without a view and chosen columns."""
        return replace(self.but(), saved="", cols=())

    @property
    def is_narrow(self) -> bool:
        """Return whether any filter is set."""
        return bool(self.plain.pairs())

    @property
    def content(self) -> Content:
        """Return what a view of this address keeps."""
        pairs = self.plain.pairs()
        sort = str(pairs.pop(SORT, ""))
        return Content(urlencode(pairs, doseq=True), sort, self.cols)


def read_view(read: Reading, tabs: Iterable[str] = ()) -> tuple[str, str]:
    """Return the tab and the key of the saved view of the parameter `view`, each "" without one."""
    tab = saved = ""
    for value in read.all(VIEW):
        if value in tabs:
            tab = value
        elif whole_number(value):
            saved = value
        elif value:
            read.ignore(VIEW, value)
    return tab, saved


def parameters(page: str, query: str, sort: str = "", columns: Sequence[str] = ()) -> QueryDict:
    """Return the parameters of a saved view. A query that is no query string is one of the search field."""
    query_dict = _query_string(page, query)
    if query_dict is None:
        query_dict = QueryDict(mutable=True)
        if query.removeprefix("?"):
            query_dict[WORDS] = query
    if sort:
        query_dict[SORT] = sort
    if columns:
        query_dict[COLUMNS] = ",".join(columns)
    return query_dict


def content(page: str, query: str, sort: str = "", columns: Sequence[str] = ()) -> Content:
    """Return what a view keeps of a query: order and columns apart, without the position in the list."""
    query_dict = _query_string(page, query)
    if query_dict is None:
        return Content(query, sort, columns)
    for name in PAGING:
        query_dict.pop(name, None)
    sort = sort or query_dict.get(SORT, "")
    columns = columns or [name for value in query_dict.getlist(COLUMNS) for name in value.split(",") if name]
    pairs = [
        (name, value)
        for name, values in query_dict.lists()
        if name not in (SORT, COLUMNS)
        for value in values
        if value and not (name == VIEW and whole_number(value))
    ]
    return Content(urlencode(pairs), sort, columns)


def in_view(page: str, key: int, query: str, sort: str, columns: Sequence[str]) -> str:
    """Return the query string of a saved view, with its key."""
    query_dict = parameters(page, query, sort, columns)
    query_dict.setdefault(WORDS, "")
    query_dict.appendlist(VIEW, str(key))
    return f"?{query_dict.urlencode()}"


def _query_string(page: str, text: str) -> QueryDict | None:
    """Return the parameters of a query string; None for other text, such as `a=b status:failed`.

    It has names of the page's parameters only: any other name is one of the words to search for.
    """
    text = text.removeprefix("?")
    if not _QUERY_STRING.fullmatch(text):
        return None
    query_dict = QueryDict(text, mutable=True)
    return query_dict if all(map(PAGES[page].knows, query_dict)) else None

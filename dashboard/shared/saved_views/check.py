"""Check that the page of a saved view can read what the view keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.query_language import parse
from dashboard.web.lists.address import WORDS, parameters
from dashboard.web.lists.pages import PAGES

if TYPE_CHECKING:
    from recorder.access.saved_views import Content


class Unreadable(Exception):
    """The page has no such order or column; the message names it."""


def check(page: str, content: Content) -> None:
    """Raise QueryError for a query that cannot be read, Unreadable for an unknown order or column."""
    parse(parameters(page, content.query).get(WORDS, ""))
    known = PAGES[page]
    if content.sort and content.sort not in known.sorts:
        raise Unreadable(f"sort: {_one_of(known.sorts, 'order')}")
    columns = list(content.columns)
    if set(columns) - set(known.columns):
        raise Unreadable(f"columns: {_one_of(known.columns, 'column')}")
    if len(set(columns)) < len(columns):
        raise Unreadable("columns: Each column is named once.")


def _one_of(names: tuple[str, ...], what: str) -> str:
    return f"The page has {', '.join(names)}." if names else f"The page has no {what} to choose."

"""Query parameters of the search: the query, the kinds of text, the order, and the page of results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from dashboard.pages.search_text.kinds import KINDS
from dashboard.query_conditions.box import Parsed, parsed
from dashboard.shared.search.queries.find import Sort
from dashboard.web.filters import FilterPage
from dashboard.web.lists.address import ListAddress, read_view
from dashboard.web.query_params import Reading
from recorder.core.content.text import clean

if TYPE_CHECKING:
    from django.http import QueryDict

SORTS = {"newest": "Newest", "best": "Best match"}
FILTERS = FilterPage(filters=(), keeps=("sort",))


@dataclass(frozen=True, slots=True)
class SearchParams(ListAddress):
    """The page's query string. `notes` name the parameters that were invalid and ignored."""

    q: str = ""
    kind: tuple[str, ...] = ()  # of text, any of them; empty: all
    sort: Sort = "newest"
    cursor: int = 0  # of the page of results, 0 for the first
    notes: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def parse(cls, params: QueryDict) -> SearchParams:
        """Parse a query string; an invalid parameter is ignored and becomes a note."""
        read = Reading(params)
        _, saved = read_view(read)
        return cls(
            saved=saved,
            q=clean(params.get("q", "")).strip(),
            kind=read.values("kind", KINDS),
            sort="best" if read.choice("sort", SORTS, "newest") == "best" else "newest",
            cursor=read.key("cursor") or 0,
            notes=tuple(read.notes),
        )

    def but(self, **changes: Any) -> Self:
        """Return a copy with `changes`, on the first page of results."""
        return replace(self, **{"cursor": 0} | changes)

    @property
    def sorts(self) -> Sequence[tuple[str, str, bool]]:
        """Return label and link of each order, and whether it is chosen."""
        return [(SORTS[value], url, is_on) for value, url, is_on in self.choices("sort", SORTS)]

    @property
    def parsed(self) -> Parsed:
        return parsed(self.q)

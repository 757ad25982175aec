"""The pages and fragments of the project that a share link reaches: those of its record, and no others.

`Scope` is asked twice. A URL in shared HTML is looked at without the database (`reaches`): it is one of the
record's own pages, or it becomes text. A request is checked again (`is_inside`): rows that its path names
besides the record, loops and events, must belong to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.http import QueryDict

from dashboard.pages.share import queries
from dashboard.rendering.event_paths import may_be_linked
from recorder.models import ShareLink

PAGING = ("before", "after")
TABS = ("conversation", "timeline", "compactions")
OF_SESSION = ("session", "loop", "session-jump", "turn-calls", "turn-passage")
OF_EVENT = ("event-text", "event-image")
# The parameters that a page may be given; all others are left out.
QUERIES: Mapping[str, tuple[str, ...]] = {
    "session": ("tab", "before", "turn", "zoom", "idle", "raw", "tree"),
    "evaluation": ("answer", "only", "branches", "row"),
    "comparison": ("only", "row"),
    "view": PAGING,
}
OF_FRAGMENTS = ("first", "end", "last", "raw", "from", "plain", "to", "loop", "turn")
OF_SOCKET: Mapping[str, tuple[str, ...]] = {
    "session": ("session", "loop", "first", "last"),
    "evaluation": ("group",),
    "view": ("rows", "newest"),
}
RAIL = "notes"

Numbers = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Scope:
    """The pages of one link."""

    link: ShareLink

    @property
    def start(self) -> str:
        """Return the path of the record under the project's URL, without a query string."""
        match self.link.kind:
            case "session":
                return f"sessions/{self.link.target}"
            case "evaluation":
                return f"evaluations/{self.link.target}"
            case "view":
                return self._view[0]
            case _:
                of = self.link.target
                return f"sessions/{of}/compare" if of else "sessions/compare"

    def reaches(self, name: str, numbers: Numbers, query: QueryDict) -> bool:
        """Whether the page of a route is one of the record's; no query of the database."""
        if name in OF_EVENT:
            return self.link.kind == "session" and may_be_linked(name, query.get("at", ""))
        if self.link.kind == "session":
            return name in OF_SESSION and numbers.get("pk") == self.link.target and self.shows(query)
        if self.link.kind == "evaluation":
            return name == "evaluation" and numbers.get("pk") == self.link.target
        if self.link.kind == "view":
            return name == self._view[0] and _pairs(query) == _pairs(self._view[1])
        is_own = name == ("loops-compare" if self.link.target else "sessions-compare")
        return is_own and numbers.get("pk", 0) == self.link.target and self.shows(query)

    def is_inside(self, name: str, numbers: Numbers) -> bool:
        """Whether the rows that a URL names belong to the record. One query."""
        if name in OF_EVENT:
            event = numbers["pk"]
            if self.link.event is not None and event > self.link.event:
                return False
            return queries.is_event_of(self.link.target, event)
        loop = numbers.get("loop")
        return loop is None or queries.is_loop_of(self.link.target, loop)

    @property
    def socket(self) -> str:
        """Return the name of the live page of the record, "" for one that is frozen or not live."""
        if self.link.event is not None or self.link.kind == "comparison":
            return ""
        return self._view[0] if self.link.kind == "view" else self.link.kind

    def reaches_socket(self, page: str, params: QueryDict) -> bool:
        """Whether the socket of a page shows the record, live. One query for a session.

        The parameters of a view's socket are not looked at: `query` sets those of the link, and of the rows
        that they name only those of the view are shown.
        """
        if not self.socket or page != self.socket:
            return False
        if self.link.kind == "view":
            return True
        name = {"session": "session", "evaluation": "group"}[page]
        if params.get(name) != str(self.link.target) or not self.shows(params):
            return False
        loop = params.get("loop", "")
        return page != "session" or not loop or self.is_inside("loop", {"loop": _number(loop)})

    def query(self, name: str, given: QueryDict, extra: tuple[str, ...] = ()) -> QueryDict:
        """Return the parameters with which a page is shown: the allowed ones, and those of the link."""
        allowed = {*QUERIES.get(self.link.kind, ()), *extra}
        if self.link.has_notes:
            allowed.add(RAIL)
        if self.link.kind == "session" and name not in ("session", "loop"):
            allowed |= {*OF_FRAGMENTS, *(("at",) if name in OF_EVENT else ())}
        query = QueryDict(mutable=True)
        for key in given.keys() & allowed:
            query.setlist(key, given.getlist(key))
        if query.get("tab", TABS[0]) not in TABS:
            del query["tab"]
        if self.link.kind == "comparison":
            is_same = self._compares_the_same(given)
            query.setlist("of", given.getlist("of") if is_same else self._compared)
        elif self.link.kind == "view":
            for key, values in self._view[1].lists():
                query.setlist(key, values)
        elif self.link.event is not None and name in OF_SESSION:
            query["at"] = str(self.link.event)
        return query

    def shows(self, query: QueryDict) -> bool:
        """Whether a query string selects what the link shows: tab, moment and rail, or what is compared.

        `query` would set another one to that of the link, so its control would do nothing. That of a view is
        not looked at: a list writes the same query in more than one way.
        """
        if self.link.kind == "view":
            return True
        if self.link.kind == "comparison":
            return self._compares_the_same(query)
        at = "" if self.link.event is None else str(self.link.event)
        has_rail = self.link.has_notes or not query.get(RAIL)
        return query.get("tab", TABS[0]) in TABS and query.get("at", at) == at and has_rail

    @property
    def _view(self) -> tuple[str, QueryDict]:
        """Return the list of a view, which is also the name of its route, and its query."""
        page, _, query = self.link.query.partition("?")
        return page, QueryDict(query)

    @property
    def _compared(self) -> list[str]:
        return QueryDict(self.link.query).getlist("of")

    def _compares_the_same(self, query: QueryDict) -> bool:
        return sorted(query.getlist("of")) == sorted(self._compared)


def _pairs(query: QueryDict) -> list[tuple[str, list[str]]]:
    """Return the parameters of a list in order, without the position in it and without empty ones."""
    return sorted((key, values) for key, values in query.lists() if key not in PAGING and any(values))


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0

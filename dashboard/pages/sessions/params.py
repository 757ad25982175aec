"""Query parameters of the list of sessions: validated once, written back into links."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from dashboard.pages.sessions import search_syntax
from dashboard.shared.session_filter import HOLDS, OUTCOMES, SILENT, SORTS, STATUSES, Lasted, Wanted
from dashboard.web.keyset import Cursor, Order
from dashboard.web.query_params import Address, Choices, Reading, start
from recorder.core.formats.registry import SOURCES

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import QueryDict


WINDOWS = ("1h", "24h", "7d", "30d", "all")
VIEWS = {  # the filter value of each
    "running": "is_running",
    "waiting": "is_waiting",
    "stale": "is_stale",
    "evaluations": "has_groups",
    "failed": "has_failed",
}
SORT_WORDS = {
    "-activity": "Last activity first",
    "activity": "Last activity last",
    "-created": "Newest first",
    "created": "Oldest first",
    "-cost": "Highest cost first",
    "cost": "Lowest cost first",
}
FACETS = ("status", "outcome", "model", "config", "agent", "source", "tool", "has")
LEAST: dict[str, Callable[[str], object | None]] = {
    "cost": search_syntax.COST.fullmatch,
    "tokens": search_syntax.tokens,
    "duration": search_syntax.duration,
}
UNITS = {"cost": "$"}


@dataclass(frozen=True, slots=True)
class Token:
    """One filter, with a link that removes it."""

    name: str
    value: str
    without: str  # query string


@dataclass(frozen=True, slots=True)
class Filters(Address):
    """The list's query string. `notes` name the parameters that were invalid and ignored."""

    q: str = ""
    view: str = ""
    status: tuple[str, ...] = ()
    outcome: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    config: tuple[str, ...] = ()  # keys, config ids or labels
    agent: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    tool: tuple[str, ...] = ()  # at least one of them was called
    has: tuple[str, ...] = ()  # all of them apply
    cost: str = ""  # minimum cost in dollars
    tokens: str = ""  # minimum number of tokens: 800, 12.5k, 1M
    duration: str = ""  # minimum duration: 400ms, 30s, 5m
    since: str = "all"
    sort: str = "-activity"
    before: Cursor | None = None  # start after this row, in the list's order
    after: Cursor | None = None  # end before this row
    notes: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def parse(cls, params: QueryDict) -> Filters:
        """Parse a query string; an invalid parameter is ignored and becomes a note."""
        spread, wrong = search_syntax.moved(params)
        read = Reading(spread)
        for name, value in wrong:
            read.ignore(name, value, search_syntax.HINTS[name])
        sort = read.choice("sort", SORTS, "-activity")
        return cls(
            q=read.words("q"),
            tool=read.values("tool"),
            has=read.values("has", HOLDS),
            cost=_least(read, "cost"),
            tokens=_least(read, "tokens"),
            duration=_least(read, "duration"),
            view=read.choice("view", VIEWS, ""),
            status=read.values("status", ("stale", *STATUSES)),
            outcome=read.values("outcome", OUTCOMES),
            model=read.values("model"),
            config=read.values("config"),
            agent=read.values("agent"),
            source=read.values("source", SOURCES),
            since=read.choice("since", WINDOWS, "all"),
            sort=sort,
            before=read.cursor("before", SORTS[sort]),
            after=read.cursor("after", SORTS[sort]),
            notes=tuple(read.notes),
        )

    @property
    def order(self) -> Order:
        return SORTS[self.sort]

    @property
    def narrowing(self) -> list[Token]:
        """Return the filters other than words, each with the link that removes it."""
        tokens = []
        for facet in FACETS:
            values = getattr(self, facet)
            for value in values:
                rest = tuple(other for other in values if other != value)
                tokens.append(Token(facet, value, self.but(**{facet: rest}).query))
        for name in LEAST:
            if value := getattr(self, name):
                least = f"≥ {UNITS.get(name, '')}{value}"
                tokens.append(Token(name, least, self.but(**{name: ""}).query))
        return tokens

    @property
    def hidden(self) -> list[tuple[str, str]]:
        """Return the parameters that the filter form sends as hidden fields."""
        once = [(name, getattr(self, name)) for name in ("view", *LEAST) if getattr(self, name)]
        many = [(name, value) for name in ("tool", "has") for value in getattr(self, name)]
        return [*once, *many, *([("since", self.since)] if self.since != "all" else [])]

    @property
    def windows(self) -> Choices:
        return self.choices("since", WINDOWS)

    @property
    def cleared(self) -> str:
        """Return the link to the list without filters."""
        return Filters(sort=self.sort).query

    def wanted(self, now: datetime) -> Wanted:
        """Return the filter conditions at `now`."""
        wanted = Wanted(
            q=self.q,
            status=self.status,
            outcome=self.outcome,
            model=self.model,
            config=self.config,
            agent=self.agent,
            source=self.source,
            since=start(self.since, now),
            now=now,
            tool=self.tool,
            has=self.has,
            min_cost=int(Decimal(self.cost).scaleb(9)) if self.cost else None,
            min_tokens=search_syntax.tokens(self.tokens),
            lasted=Lasted(least, now) if (least := search_syntax.duration(self.duration)) else None,
        )
        if self.status and self.outcome and set(self.status) <= set(SILENT):
            # "Running" and "Failed" selected in one menu match either.
            wanted = replace(wanted, status=(), outcome=(), state=self.status + self.outcome)
        view: dict[str, Any] = {VIEWS[self.view]: True} if self.view else {}
        return replace(wanted, **view)


def _least(read: Reading, name: str) -> str:
    given = read.text(name)
    if given and LEAST[name](given) is None:
        read.ignore(name, given, search_syntax.HINTS[name])
        return ""
    return given

"""What the reader asked the list of sessions for: validated once, written back into links."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from dashboard.address import Address, Choices, Reading, start
from dashboard.keyset import Cursor, Order
from dashboard.search import OPEN, OUTCOMES, SORTS, SOURCES, STATUSES, Wanted

if TYPE_CHECKING:
    from django.http import QueryDict

    from dashboard.links import Value

WINDOWS = ("1h", "24h", "7d", "30d", "all")
VIEWS = {  # the condition each stands for
    "running": "is_running",
    "waiting": "is_waiting",
    "evaluations": "has_groups",
    "failed": "has_failed",
}
SORT_WORDS = {
    "-activity": "Last activity first",
    "activity": "Last activity last",
    "-created": "Newest first",
    "created": "Oldest first",
    "-cost": "Dearest first",
    "cost": "Cheapest first",
}
FACETS = ("status", "outcome", "model", "agent", "source")
COST = re.compile(r"\d{1,9}(\.\d{1,9})?", re.ASCII)
COST_TYPED = re.compile(r"(?<!\S)cost:>=?(\S+)")


@dataclass(frozen=True, slots=True)
class Token:
    """One removable piece of what is asked for."""

    name: str
    value: str
    without: str  # query string


@dataclass(frozen=True, slots=True)
class Filters(Address):
    """The list's query string. `notes` say what of it made no sense and was left out."""

    q: str = ""
    view: str = ""
    status: tuple[str, ...] = ()
    outcome: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    agent: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    cost: str = ""  # in dollars; only what cost as much
    since: str = "all"
    sort: str = "-activity"
    before: Cursor | None = None  # the page after this row, in the list's order
    after: Cursor | None = None  # the page that ends before this row
    notes: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def parse(cls, params: QueryDict) -> Filters:
        """Read a query string; what makes no sense becomes a note."""
        read = Reading(params)
        words, cost = _words_and_cost(read)
        sort = read.choice("sort", SORTS, "-activity")
        return cls(
            q=words,
            cost=cost,
            view=read.choice("view", VIEWS, ""),
            status=read.values("status", STATUSES),
            outcome=read.values("outcome", OUTCOMES),
            model=read.values("model"),
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
    def tokens(self) -> list[Token]:
        """Return the ticked values, each with the list without it."""
        tokens = []
        for facet in FACETS:
            values = getattr(self, facet)
            for value in values:
                rest = tuple(other for other in values if other != value)
                tokens.append(Token(facet, value, self.but(**{facet: rest}).query))
        if self.cost:
            tokens.append(Token("cost", f"≥ ${self.cost}", self.but(cost="").query))
        return tokens

    @property
    def hidden(self) -> dict[str, Value]:
        """Return what the filter bar's form keeps and has no field for."""
        return Filters(view=self.view, cost=self.cost, since=self.since).pairs()

    @property
    def windows(self) -> Choices:
        return self.choices("since", WINDOWS)

    @property
    def cleared(self) -> str:
        """Return the link to the list without conditions."""
        return Filters(sort=self.sort).query

    def wanted(self, now: datetime) -> Wanted:
        """Return what that means at `now`."""
        wanted = Wanted(
            q=self.q,
            status=self.status,
            outcome=self.outcome,
            model=self.model,
            agent=self.agent,
            source=self.source,
            since=start(self.since, now),
            min_cost=int(Decimal(self.cost).scaleb(9)) if self.cost else None,
        )
        if self.status and self.outcome and set(self.status) <= set(OPEN):
            # "Running" and "Failed" ticked in one menu mean either.
            wanted = replace(wanted, status=(), outcome=(), state=self.status + self.outcome)
        view: dict[str, Any] = {VIEWS[self.view]: True} if self.view else {}
        return replace(wanted, **view)


def _words_and_cost(read: Reading) -> tuple[str, str]:
    """Return the words to look for and the least cost: a `cost:>1` among them goes before the field."""
    words, cost = read.words("q"), read.text("cost")
    if typed := COST_TYPED.findall(words):
        words, cost = " ".join(COST_TYPED.sub(" ", words).split()), typed[-1]
    if cost and not COST.fullmatch(cost):
        read.ignore("cost", cost)
        cost = ""
    return words, cost

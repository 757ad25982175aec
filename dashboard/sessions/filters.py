"""What the reader asked the list of sessions for: validated once, written back into links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from dashboard.keyset import Cursor, Order
from dashboard.search import OPEN, OUTCOMES, SOURCES, STATUSES, Wanted

if TYPE_CHECKING:
    from django.http import QueryDict

WINDOWS = {
    "1h": timedelta(hours=1),
    "24h": timedelta(hours=24),
    "7d": timedelta(days=7),
    "30d": timedelta(days=30),
    "all": None,
}
VIEWS = {  # the condition each stands for
    "running": "is_running",
    "waiting": "is_waiting",
    "evaluations": "has_groups",
    "failed": "has_failed",
}
SORTS = {
    "-activity": Order("last_event_at"),
    "activity": Order("last_event_at", newest_first=False),
    "-created": Order("created_at"),
    "created": Order("created_at", newest_first=False),
    "-cost": Order("cost_nano"),
    "cost": Order("cost_nano", newest_first=False),
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
WORDS_MAX = 200
VALUES_MAX = 50  # of one facet
SHOWN_MAX = 60
NOTES_MAX = 5


@dataclass(frozen=True, slots=True)
class Token:
    """One removable piece of what is asked for."""

    name: str
    value: str
    without: str  # query string


@dataclass(frozen=True, slots=True)
class Filters:
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
        notes: list[str] = []
        read = _Reading(params, notes)
        words, cost = read.words_and_cost()
        return cls(
            q=words,
            cost=cost,
            view=read.choice("view", tuple(VIEWS), ""),
            status=read.values("status", STATUSES),
            outcome=read.values("outcome", OUTCOMES),
            model=read.values("model"),
            agent=read.values("agent"),
            source=read.values("source", SOURCES),
            since=read.choice("since", tuple(WINDOWS), "all"),
            sort=read.choice("sort", tuple(SORTS), "-activity"),
            before=read.cursor("before"),
            after=read.cursor("after"),
            notes=tuple(notes),
        )

    @property
    def order(self) -> Order:
        return SORTS[self.sort]

    @property
    def is_narrow(self) -> bool:
        """Whether anything but the order is asked for."""
        return self.but(sort="-activity") != Filters()

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
    def hidden(self) -> list[tuple[str, str]]:
        """Return what the filter bar's form keeps and has no field for."""
        return list(Filters(view=self.view, cost=self.cost, since=self.since).pairs())

    @property
    def windows(self) -> list[tuple[str, str, bool]]:
        """Return the time ranges: name, link, whether chosen."""
        return [(name, self.but(since=name).query, name == self.since) for name in WINDOWS]

    @property
    def cleared(self) -> str:
        """Return the link to the list without conditions."""
        return Filters(sort=self.sort).query

    def but(self, **changes: Any) -> Filters:
        """Return the same list, on its first page, but for `changes`."""
        return replace(self, **{"before": None, "after": None, **changes})

    def on_first_page(self) -> Filters:
        return self.but()

    def wanted(self, now: datetime) -> Wanted:
        """Return what that means at `now`."""
        window = WINDOWS[self.since]
        wanted = Wanted(
            q=self.q,
            status=self.status,
            outcome=self.outcome,
            model=self.model,
            agent=self.agent,
            source=self.source,
            since=now - window if window else None,
            min_cost=int(Decimal(self.cost).scaleb(9)) if self.cost else None,
        )
        if self.status and self.outcome and set(self.status) <= set(OPEN):
            # "Running" and "Failed" ticked in one menu mean either.
            wanted = replace(wanted, status=(), outcome=(), state=self.status + self.outcome)
        view: dict[str, Any] = {VIEWS[self.view]: True} if self.view else {}
        return replace(wanted, **view)

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Return the query string's names and values, without what is usual."""
        usual = Filters()
        for name in ("q", "view", *FACETS, "cost", "since", "sort", "before", "after"):
            value = getattr(self, name)
            if value == getattr(usual, name):
                continue
            for one in value if isinstance(value, tuple) else (value,):
                yield name, str(one)

    @property
    def query(self) -> str:
        """Return the link to exactly this list, relative to the page: "?…", never empty."""
        return "?" + urlencode(list(self.pairs()))


class _Reading:
    """One query string being read."""

    def __init__(self, params: QueryDict, notes: list[str]) -> None:
        self._params = params
        self._notes = notes

    def words_and_cost(self) -> tuple[str, str]:
        """Return the words to look for and the least cost: a `cost:>1` among them goes before the field."""
        words = self.words()
        typed = COST_TYPED.findall(words)
        given = typed[-1] if typed else self._params.get("cost", "")
        if given and not COST.fullmatch(given):
            self._ignore("cost", given)
            given = ""
        return " ".join(COST_TYPED.sub(" ", words).split()) if typed else words, given

    def words(self) -> str:
        given = self._params.get("q", "").replace("\0", "").strip()
        if len(given) > WORDS_MAX:
            self._notes.append(f"Only the first {WORDS_MAX} characters were searched for.")
        return given[:WORDS_MAX].strip()

    def choice(self, name: str, known: tuple[str, ...], usual: str) -> str:
        given = self._params.get(name, "")
        if given in known or not given:
            return given or usual
        self._ignore(name, given)
        return usual

    def values(self, name: str, known: tuple[str, ...] = ()) -> tuple[str, ...]:
        given = [value for value in dict.fromkeys(self._params.getlist(name)) if value]
        kept: list[str] = []
        for value in given:
            if "\0" in value or (known and value not in known) or len(kept) == VALUES_MAX:
                self._ignore(name, value)
            else:
                kept.append(value)
        return tuple(kept)

    def cursor(self, name: str) -> Cursor | None:
        given = self._params.get(name, "")
        try:
            return Cursor.parse(given) if given else None
        except ValueError:
            self._ignore(name, given)
            return None

    def _ignore(self, name: str, value: str) -> None:
        if len(self._notes) == NOTES_MAX:
            return
        shown = value.replace("\0", "�")
        shown = shown if len(shown) <= SHOWN_MAX else f"{shown[:SHOWN_MAX]}…"
        self._notes.append(f"Ignored {name} “{shown}”: there is no such value.")

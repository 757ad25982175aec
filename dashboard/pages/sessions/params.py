"""Query parameters of the list of sessions: validated once, written back into links."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from dashboard.pages.sessions import search_syntax
from dashboard.shared.session_filter import (
    HOLDS,
    METADATA,
    OUTCOMES,
    SILENT,
    SORTS,
    STATUSES,
    Lasted,
    Wanted,
    metadata_names,
)
from dashboard.web.filters import Filter, Search
from dashboard.web.filters import Page as FilterPage
from dashboard.web.keyset import Cursor, Order
from dashboard.web.query_params import Address, Reading
from dashboard.web.time_range import read_range, time_range
from recorder.core.content.labels import SEPARATOR
from recorder.core.formats.registry import SOURCES

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import QueryDict

    from dashboard.web.links import Value


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
LEAST: dict[str, Callable[[str], object | None]] = {
    "cost": search_syntax.COST.fullmatch,
    "tokens": search_syntax.tokens,
    "duration": search_syntax.duration,
}
FILTERS = FilterPage(
    filters=(
        *(Filter(name, name) for name in ("status", "outcome", "model", "config", "agent", "source")),
        *(Filter(name, name) for name in ("tool", "has", "tag")),
        Filter("metadata", "metadata", shown=lambda pair: pair.replace(SEPARATOR, " = ", 1)),
        Filter("cost", "cost", shown="≥ ${}".format),
        Filter("tokens", "tokens", shown="≥ {}".format),
        Filter("duration", "duration", shown="≥ {}".format),
    ),
    windows=WINDOWS,
)
SEARCH = Search(
    name="q",
    label="Search sessions",
    placeholder="Words, status:failed, tool:bash, cost:>1",
    title="Words of title, prompt, agent and id. Also status: model: agent: tool: source: has: cost:>1 "
    "tag: metadata.NAME: tokens:>10k duration:>5m",
    key="/",
)


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
    tag: tuple[str, ...] = ()
    metadata: tuple[str, ...] = ()  # name and value of each; the parameter is metadata.NAME
    cost: str = ""  # minimum cost in dollars
    tokens: str = ""  # minimum number of tokens: 800, 12.5k, 1M
    duration: str = ""  # minimum duration: 400ms, 30s, 5m
    since: str = "all"
    until: str = ""
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
        since, until = read_range(read, WINDOWS, "all")
        return cls(
            q=read.words("q"),
            tool=read.values("tool"),
            has=read.values("has", HOLDS),
            tag=read.values("tag"),
            metadata=tuple(
                f"{name}{SEPARATOR}{value}"
                for name in metadata_names(spread)
                for value in read.values(f"{METADATA}{name}")
            ),
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
            since=since,
            until=until,
            sort=sort,
            before=read.cursor("before", SORTS[sort]),
            after=read.cursor("after", SORTS[sort]),
            notes=tuple(read.notes),
        )

    def pairs(self) -> dict[str, Value]:
        """Return names and values of the parameters; each name of metadata is one of its own."""
        found = Address.pairs(self)
        found.pop("metadata", None)
        by_name: dict[str, tuple[str, ...]] = {}
        for pair in self.metadata:
            name, _, value = pair.partition(SEPARATOR)
            by_name[name] = (*by_name.get(name, ()), value)
        return found | {f"{METADATA}{name}": values for name, values in by_name.items()}

    @property
    def order(self) -> Order:
        return SORTS[self.sort]

    @property
    def is_filtered(self) -> bool:
        """Return whether anything but the time range narrows the list."""
        return bool(self.q or self.view or FILTERS.tokens(self))

    def wanted(self, now: datetime) -> Wanted:
        """Return the filter conditions at `now`."""
        within = time_range(self, now)
        wanted = Wanted(
            q=self.q,
            status=self.status,
            outcome=self.outcome,
            model=self.model,
            config=self.config,
            agent=self.agent,
            source=self.source,
            since=within.start,
            until=within.end,
            now=now,
            tool=self.tool,
            has=self.has,
            tag=self.tag,
            metadata=tuple(
                (name, value) for name, _, value in (p.partition(SEPARATOR) for p in self.metadata)
            ),
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

"""Query parameters of the integrity page."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dashboard.web.filters import Filter, FilterPage
from dashboard.web.query_params import Address, Reading
from dashboard.web.time_range import read_range

if TYPE_CHECKING:
    from django.http import QueryDict

LISTS = {
    "rejected": "Rejected lines",
    "orphans": "Orphan events",
    "inconsistencies": "Inconsistencies",
    "spans": "Spans set aside",
    "unrecorded": "Spans without a record",
}
WINDOWS = ("24h", "7d", "30d", "90d", "all")
FILTERS = FilterPage(
    filters=(Filter("reason", "reason"), Filter("producer", "producer")),
    windows=WINDOWS,
    keeps=("list", "since", "until"),
)


@dataclass(frozen=True, slots=True)
class Filters(Address):
    """All groups, or the rows of one list; both of these reasons, producers and times only."""

    list: str = ""  # one of LISTS; "" shows the groups of all
    # Code of a rejected line, type of an orphan event, kind of an inconsistency, fault or sender of spans.
    reason: tuple[str, ...] = ()
    producer: tuple[str, ...] = ()  # names; of spans those of tokens
    since: str = "all"
    until: str = ""
    before: int | None = None  # primary key after which this page of the list starts, newest first
    notes: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def parse(cls, params: QueryDict) -> Filters:
        """Parse a query string; an invalid parameter is ignored and becomes a note."""
        read = Reading(params)
        since, until = read_range(read, WINDOWS, "all")
        name = read.choice("list", LISTS, "")
        return cls(
            list=name,
            reason=read.values("reason"),
            producer=read.values("producer"),
            since=since,
            until=until,
            before=read.key("before") if name else None,
            notes=tuple(read.notes),
        )

    @property
    def is_narrow(self) -> bool:
        """Return whether the page shows a part of what is recorded, apart from the choice of a list."""
        return self.but(list="") != Filters()

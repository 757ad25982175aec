"""Query parameters of the audit log's page. An invalid parameter is ignored and becomes a note."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from dashboard.shared.audit_log.queries import Wanted
from dashboard.web.filters import Filter, FilterPage
from dashboard.web.keyset import RECORDED, Cursor
from dashboard.web.query_params import Address, Choices, Reading
from dashboard.web.time_range import read_range, time_range
from recorder.operations.audit_actions import GROUPS, Group, describe

if TYPE_CHECKING:
    from datetime import datetime

    from django.http import QueryDict

WINDOWS = ("24h", "7d", "30d", "90d", "all")


def _words(action: str) -> str:
    return describe(action).words


FILTERS = FilterPage(
    filters=(Filter("actor", "actor"), Filter("action", "action", shown=_words)),
    windows=WINDOWS,
    keeps=("since", "until", "group"),
)


@dataclass(frozen=True, slots=True)
class AuditParams(Address):
    """The query string of the page and of its files."""

    q: str = ""
    group: str = ""  # one of GROUPS; "" shows all
    actor: tuple[str, ...] = ()
    action: tuple[str, ...] = ()  # also those that this version does not know
    since: str = "all"
    until: str = ""
    before: Cursor | None = None  # start after this entry, newest first
    after: Cursor | None = None  # end before this entry
    notes: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def parse(cls, params: QueryDict) -> AuditParams:
        """Parse a query string."""
        read = Reading(params)
        since, until = read_range(read, WINDOWS, "all")
        return cls(
            q=read.words("q"),
            group=read.choice("group", GROUPS, ""),
            actor=read.values("actor"),
            action=read.values("action"),
            since=since,
            until=until,
            before=read.cursor("before", RECORDED),
            after=read.cursor("after", RECORDED),
            notes=tuple(read.notes),
        )

    def wanted(self, now: datetime) -> Wanted:
        """Return what selects the entries."""
        within = time_range(self, now)
        return Wanted(
            words=self.q,
            group=cast("Group | None", self.group or None),
            actors=self.actor,
            actions=self.action,
            since=within.start,
            until=within.end,
        )

    @property
    def groups(self) -> Choices:
        """Return words, link and whether it is chosen of each group."""
        names = [("", "All"), *GROUPS.items()]
        return [(word, self.but(group=name).query, name == self.group) for name, word in names]

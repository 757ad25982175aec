"""The query parameters of a session page, parsed once. Invalid values are treated as missing."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from dashboard.pages.session.context_filters import ContextParams
from dashboard.pages.session.event_filters import SESSION, EventFilters
from dashboard.web.query_params import whole_number

if TYPE_CHECKING:
    from django.http import QueryDict

Tab = Literal["conversation", "timeline", "events", "context", "compactions", "json"]
Record = Literal["phi-core", "api", "brief"]
RECORDS: tuple[Record, ...] = ("phi-core", "api", "brief")
TABS: tuple[Tab, ...] = ("conversation", "timeline", "events", "context", "compactions", "json")

Notes = Literal["", "all", "notes", "scores", "bookmarks"]
RAILS: tuple[Notes, ...] = ("all", "notes", "scores", "bookmarks")


@dataclass(frozen=True, slots=True)
class SessionParams:
    """Parsed parameters.

    `before` is a turn's ordinal or an event id, by tab; `at`, `around`, `after` are events.
    """

    tab: Tab = "conversation"
    events: EventFilters = field(default_factory=EventFilters)
    before: int | None = None
    turn: int | None = None  # numbered from 1
    after: int | None = None
    around: int | None = None
    at: int | None = None  # show the session as of this event
    zoom: tuple[float, float] | None = None  # part of the timeline, in seconds since its start
    is_idle_shown: bool = False
    is_raw: bool = False  # do not render Markdown
    of: Record = "phi-core"
    tree: int | None = None  # the loop around which the tree is shown
    context: ContextParams = field(default_factory=ContextParams)  # of the tab Context
    notes: Notes = ""  # the filter of the rail, which is closed without

    @classmethod
    def parse(cls, params: QueryDict) -> SessionParams:
        """Parse a query string."""
        tab, of = params.get("tab", ""), params.get("of", "")
        return cls(
            tab=tab if tab in TABS else "conversation",
            events=EventFilters.parse(params) if tab == "events" else EventFilters(),
            before=whole_number(params.get("before", "")),
            turn=whole_number(params.get("turn", "")),
            after=whole_number(params.get("after", "")),
            around=whole_number(params.get("around", "")),
            at=whole_number(params.get("at", "")),
            zoom=_zoom(params.get("zoom", "")),
            is_idle_shown=params.get("idle") == "1",
            is_raw=params.get("raw") == "1",
            of=of if of in RECORDS else "phi-core",
            tree=whole_number(params.get("tree", "")),
            context=ContextParams.parse(params),
            notes=next((name for name in RAILS if name == params.get("notes", "")), ""),
        )

    @property
    def is_whole(self) -> bool:
        """Return whether the events of the whole session are listed."""
        return self.events.scope == SESSION


def _zoom(text: str) -> tuple[float, float] | None:
    """Parse a range of seconds like "1.5-20"; return None for anything else."""
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,6})?)-(\d{1,9}(?:\.\d{1,6})?)", text, re.ASCII)
    return (float(match[1]), float(match[2])) if match and float(match[1]) < float(match[2]) else None

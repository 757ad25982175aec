"""The sessions that came after the page was drawn."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from dashboard.search import matching
from dashboard.sessions.filters import Filters
from dashboard.sessions.queries.counts import Count, count


@dataclass(frozen=True, slots=True)
class Fresh:
    """What waits behind the strip, and the link that shows it."""

    count: Count
    href: str


def fresh(project: int, filters: Filters, newest: int, now: datetime) -> Fresh:
    """Count the sessions that match and were recorded after the session `newest`."""
    first = filters.on_first_page()
    return Fresh(count(matching(project, first.wanted(now)).filter(pk__gt=newest)), first.query)

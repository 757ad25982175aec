"""Sessions of a list."""

from __future__ import annotations

from datetime import datetime

from django.db.models import QuerySet

from dashboard.pages.sessions.params import Filters
from dashboard.shared.queries import session_filter
from recorder.models import Session

FEW = 2_000
INDEXED = ("view", "since", "until", "sort", "cols")  # conditions that an index answers


def every(project: int) -> QuerySet[Session]:
    return Session.objects.filter(project=project)


def matching(project: int, filters: Filters, now: datetime) -> QuerySet[Session]:
    """Return the sessions that match the filters, unordered."""
    query = filters.query_text.on_sessions(project, now, filters.reader)
    return session_filter.matching(project, filters.wanted(now)).filter(query)


def dearest(project: int, filters: Filters, now: datetime) -> int | None:
    """Return the key of the session with the highest cost of those that match; None if none has a cost."""
    paid = matching(project, filters, now).filter(cost_nano__gt=0)
    return session_filter.SORTS["-cost"].sort(paid).values_list("pk", flat=True).first()


def few(project: int, filters: Filters, now: datetime) -> list[int] | None:
    """Return the keys of the sessions that match, if these are at most `FEW`; None if no scan is needed.

    Words and most other conditions are found by a scan. What several counts need is so scanned for once.
    """
    if not set(filters.plain.pairs()).difference(INDEXED):
        return None
    pks = list(matching(project, filters, now).values_list("pk", flat=True)[: FEW + 1])
    return pks if len(pks) <= FEW else None

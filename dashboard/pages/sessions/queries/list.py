"""Sessions of a list."""

from __future__ import annotations

from datetime import datetime

from django.db.models import QuerySet

from dashboard.pages.sessions.params import Filters
from dashboard.shared import session_filter
from recorder.models import Session


def every(project: int) -> QuerySet[Session]:
    return Session.objects.filter(project=project)


def matching(project: int, filters: Filters, now: datetime) -> QuerySet[Session]:
    """Return the sessions that match the filters, unordered."""
    return session_filter.matching(project, filters.wanted(now))

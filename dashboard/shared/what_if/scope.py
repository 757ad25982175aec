"""Whose calls are computed: those of a session, or of whole days of a project, also of one agent.

Days are whole ones in UTC, as the sums of the ledger are: a period begins and ends at midnight.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.db.models import Q, Value
from django.db.models.functions import Coalesce, NullIf

from recorder.models import happened

DAY = timedelta(days=1)
# A period ends where the calendar still has a day before and after it.
FIRST_END, LAST_END = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Scope:
    """A session by its primary key, or the days from `first` to `last`; `agent` "" for all."""

    project: int
    session: int | None = None
    first: date | None = None
    last: date | None = None
    agent: str = ""

    def records(self, session: str, event: str = "ended") -> tuple[dict[str, Any], Q]:
        """Return an alias and the condition on records; `session` leads to their session's key."""
        if self.session is not None:
            return {}, Q(**{session: self.session})
        bounds: dict[str, Any] = {f"{session}__project": self.project}
        if self.first is not None:
            bounds["at__gte"] = _midnight(self.first)
        if self.last is not None:
            bounds["at__lt"] = _midnight(self.last) + DAY
        return {"at": happened(event)}, Q(**bounds)

    def sums(self) -> Q:
        """Return the condition on the sums of the ledger."""
        if self.session is not None:
            return Q(project=self.project, session=self.session)
        where = Q(project=self.project)
        if self.first is not None:
            where &= Q(day__gte=self.first)
        if self.last is not None:
            where &= Q(day__lte=self.last)
        return where & Q(agent_id=self.agent) if self.agent else where


def days(project: int, start: datetime | None, end: datetime, agent: str) -> Scope:
    """Return the whole days, in UTC, that the time from `start` up to and without `end` touches."""
    last = (min(max(end.astimezone(UTC), FIRST_END), LAST_END) - timedelta(microseconds=1)).date()
    return Scope(project, None, start.astimezone(UTC).date() if start else None, last, agent)


def agent_of_turn() -> Coalesce:
    """Return the agent that answered a turn."""
    return Coalesce(NullIf("agent_id", Value("")), "loop__agent_id")


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)

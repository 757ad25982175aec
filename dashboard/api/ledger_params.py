"""Query parameters of what is read from the block ledger: one session, sums of days, and *What if*."""

from __future__ import annotations

from datetime import UTC, date
from typing import TYPE_CHECKING, Annotated

from django.utils import timezone
from ninja.errors import HttpError
from pydantic import AfterValidator, Field

from dashboard.api.params import ID_MAX, Moment, QueryParams, Text, Texts
from dashboard.shared.ledger_sums.queries.sums import Scope as SumsScope

if TYPE_CHECKING:
    from recorder.models import Project


def _with_provider(name: str) -> str:
    if not name.partition(":")[2]:
        raise ValueError("a model is PROVIDER:MODEL")
    return name


def _days_before(day: date, days: int) -> date:
    """Return the day that is `days` before a day, or the first of the calendar."""
    return date.fromordinal(max(1, day.toordinal() - days))


ModelName = Annotated[Text, AfterValidator(_with_provider)]


class OfLedger(QueryParams):
    """The session of a block ledger; `at` gives it as of an event."""

    session_id: Text
    at: Annotated[int, Field(ge=0, le=ID_MAX)] | None = None


class OfLedgerSums(QueryParams):
    """Whole days in UTC, both included, by default the last 14; a repeated parameter matches any value."""

    since: date | None = None
    until: date | None = None
    agent: Texts = []
    version: Texts = []
    model: Texts = []

    def scope(self, project: Project) -> SumsScope:
        """Return which calls of a project count: at most 366 days, the newest. Raises HttpError."""
        today = timezone.now().astimezone(UTC).date()
        last = min(self.until or today, today)
        first = self.since or _days_before(last, 13)
        if first > last:
            raise HttpError(400, "since: must not be after until or today.")
        first = max(first, _days_before(last, 365))
        narrow = tuple(self.agent), tuple(self.version), tuple(self.model)
        return SumsScope(project.pk, first, last, *narrow)


class OfWhatIf(QueryParams):
    """A session, or the whole days in UTC that a time touches, also of one agent; and models.

    A model is PROVIDER:MODEL. Without models they are those that answered, and common ones.
    """

    session: Text | None = None
    since: Moment | None = None
    until: Moment | None = None
    agent: Text | None = None
    model: Annotated[list[ModelName], Field(max_length=5)] = []

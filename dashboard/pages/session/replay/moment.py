"""One event as the moment at which a session is looked at."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from recorder.models import EventRecord, Session


@dataclass(frozen=True, slots=True)
class Moment:
    """When it was: the clock of a page of the past stands there."""

    event: int
    number: int  # of the event in its session, from 1
    at: datetime
    since: timedelta  # the session began


def moment(session: int, event: int) -> Moment:
    """Return the moment of an event; asked within the past, it is the last there is. Three queries.

    An event without a time was when the last one before it was that has one.
    """
    record = EventRecord.objects.select_related("loop", "journal").defer("journal__own").get(pk=event)
    said = record.occurred_at or (record.loop.last_event_at if record.loop else None)
    at = said or record.journal.received_at
    number = EventRecord.objects.filter(session=session, journal__lte=event).count()
    began = Session.objects.only("created_at").get(pk=session).created_at
    return Moment(event, number, at, max(at - began, timedelta()))

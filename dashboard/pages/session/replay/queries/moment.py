"""The event as of which a session is shown."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from recorder.models import EventRecord, Session


@dataclass(frozen=True, slots=True)
class Moment:
    """Position and time of an event; the page's clock is set to `at`."""

    event: int
    number: int  # of the event in its session, from 1
    at: datetime
    since: timedelta  # time since the start of the session


def moment(session: int, event: int) -> Moment:
    """Return the moment of an event. Three queries.

    Call it within `viewing_as_of`: then the loop's last event is not later than `event`, so an event without
    a timestamp gets the time of the last event before it that has one.
    """
    record = EventRecord.objects.select_related("loop", "journal").defer("journal__own").get(pk=event)
    occurred = record.occurred_at or (record.loop.last_event_at if record.loop else None)
    at = occurred or record.journal.received_at
    number = EventRecord.objects.filter(session=session, journal__lte=event).count()
    began = Session.objects.only("created_at").get(pk=session).created_at
    return Moment(event, number, at, max(at - began, timedelta()))

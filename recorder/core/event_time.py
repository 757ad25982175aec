"""The time at which an event happened: the definition of docs/explanation/time.md."""

from __future__ import annotations

from datetime import datetime, timedelta

FOLLOWED = timedelta(hours=24)  # a stream whose events arrive later than this is history, not followed live


def happened_at(at: datetime | None, received_at: datetime) -> datetime:
    """Return the time of an event: `at`, as on the wire, unless that is missing or after its arrival."""
    return received_at if at is None or at > received_at else at


def arrival_if_earlier(at: datetime, received_at: datetime) -> datetime | None:
    """Return the arrival of an event whose time is later, at which it counts; None where its time counts."""
    return received_at if at > received_at else None


def happened_without_time(
    last_event_at: datetime, last_received_at: datetime, received_at: datetime
) -> datetime:
    """Return the time of an event that carries none, from the time and the arrival of the event before it.

    It happened as long after that event as it arrived after it: a long answer that streams for an hour keeps
    its session active, and an import, whose lines arrive at once, stays as old as its events. More than 24
    hours after the event before it, it happened when that event did.
    """
    passed = received_at - last_received_at
    if passed <= timedelta() or received_at - last_event_at > FOLLOWED:
        return last_event_at
    return min(last_event_at + passed, received_at)

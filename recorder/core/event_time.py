"""When an event happened: the definition of docs/explanation/time.md."""

from __future__ import annotations

from datetime import datetime


def happened_at(at: datetime | None, received_at: datetime) -> datetime:
    """Return the time of an event: `at`, as on the wire, unless that is missing or after its arrival."""
    return received_at if at is None or at > received_at else at

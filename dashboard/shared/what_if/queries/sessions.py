"""The session whose calls are computed."""

from __future__ import annotations

from recorder.models import Session


def session_of(project: int, session_id: str) -> int | None:
    """Return the primary key of a session by its id; None if the project has none. One query."""
    sessions = Session.objects.filter(project=project, session_id=session_id)
    return sessions.values_list("pk", flat=True).first()

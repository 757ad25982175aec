"""Pins: which sessions keep their bodies whatever their age. People set them; they are not derived."""

from __future__ import annotations

from recorder.models import Pin, Session


def pin(session: Session, by: str) -> None:
    """Keep the bodies of a session that are there."""
    Pin.objects.get_or_create(
        project_id=session.project_id, session_id=session.session_id, defaults={"pinned_by": by}
    )


def unpin(session: Session) -> None:
    """Let the bodies of a session go when they are due."""
    Pin.objects.filter(project=session.project_id, session_id=session.session_id).delete()

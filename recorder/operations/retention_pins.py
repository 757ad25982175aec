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


def forget_strays(project: int) -> None:
    """Forget pins of sessions that are not there: another of that name would come pinned."""
    known = Session.objects.filter(project=project).values("session_id")
    Pin.objects.filter(project=project).exclude(session_id__in=known).delete()

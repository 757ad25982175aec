"""Pins: sessions whose bodies retention keeps whatever their age. Users set them; a rebuild keeps them."""

from __future__ import annotations

from recorder.models import Pin, Session


def pin(session: Session, by: str) -> None:
    """Exclude a session from retention: the bodies it still has are kept."""
    Pin.objects.get_or_create(
        project_id=session.project_id, session_id=session.session_id, defaults={"pinned_by": by}
    )


def unpin(session: Session) -> None:
    """Return a session to retention."""
    Pin.objects.filter(project=session.project_id, session_id=session.session_id).delete()


def delete_dangling(project: int) -> None:
    """Delete pins of sessions that do not exist; a later session of the same id would start pinned."""
    existing = Session.objects.filter(project=project).values("session_id")
    Pin.objects.filter(project=project).exclude(session_id__in=existing).delete()

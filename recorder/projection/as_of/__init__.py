"""A session as it was at a recorded event: `with past.seen_from(session, event):` every query tells it so."""

from recorder.projection.as_of.overlay import NotOfSession, seen_from

__all__ = ["NotOfSession", "seen_from"]

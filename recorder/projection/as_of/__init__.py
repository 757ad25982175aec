"""A session as it was at a recorded event: `with past.seen_from(session, event):` every query tells it so."""

from recorder.projection.as_of.overlay import NotOfSession, as_of

__all__ = ["NotOfSession", "as_of"]

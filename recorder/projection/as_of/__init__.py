"""A session as it was at an event: within `with as_of(session, event):` every query returns that state."""

from recorder.projection.as_of.overlay import NotOfSession, as_of

__all__ = ["NotOfSession", "as_of"]

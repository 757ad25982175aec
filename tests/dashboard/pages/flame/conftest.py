"""Flame graphs of a signed-in user; events are sent through the real ingest."""

from tests.dashboard.pages.sessions.conftest import feed, project, see

__all__ = ["feed", "project", "see"]

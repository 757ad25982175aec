"""Full-text search in the dashboard: the sessions that have some words, and the places where they occur."""

from dashboard.shared.search.sessions import has_words

__all__ = ("has_words",)

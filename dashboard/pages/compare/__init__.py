"""The comparison of sessions, and of loops of one session."""

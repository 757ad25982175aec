"""The list of sessions: what runs, what waits, what was recorded."""

"""The replay track of a session: its drawing, and the steps between events."""

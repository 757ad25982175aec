"""The header of a session and of a loop."""

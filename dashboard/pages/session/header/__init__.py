"""The headers of a session and of a loop."""

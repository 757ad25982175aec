"""The HTTP endpoint for events."""

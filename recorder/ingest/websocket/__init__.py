"""The WebSocket endpoint for events."""

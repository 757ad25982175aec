"""ASGI beneath the endpoints: its types, and the base class of WebSocket consumers."""

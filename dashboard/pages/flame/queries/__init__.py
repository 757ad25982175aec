"""The reads of the flame graph."""

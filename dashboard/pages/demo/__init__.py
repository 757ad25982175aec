"""The demo: its buttons."""

"""Start and removal of the demo."""

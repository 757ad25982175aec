"""Search in a project: the command palette, and the same results as a page."""

"""Database queries of waste: what was found, where it occurred, and sums over a project."""

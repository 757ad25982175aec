"""Saved views: reads, and the bar above a list."""

"""Measures pages in a real browser."""

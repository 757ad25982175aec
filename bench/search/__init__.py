"""Measures search."""

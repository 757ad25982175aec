"""Queries and figures that two pages or more need."""

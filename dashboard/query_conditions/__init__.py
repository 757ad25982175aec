"""Meaning of a query for each kind of record: database conditions, spending, and the box that reads it."""

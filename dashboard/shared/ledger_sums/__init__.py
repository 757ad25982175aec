"""Sums of the block ledger over a period of a project, for the page Context and cache and for the API."""

"""Reads of the block ledger."""

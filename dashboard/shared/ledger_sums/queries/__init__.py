"""Reads of the sums of the block ledger, and of the dearest requests that they lead to."""

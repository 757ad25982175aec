"""The block ledger: what model calls were sent, what that cost, and why a prompt cache was missed."""

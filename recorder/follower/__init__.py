"""Makes tables that are derived from journal and records, behind the writer: the block ledger, and waste."""

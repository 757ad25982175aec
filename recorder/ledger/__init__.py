"""The block ledger in the database: made behind the writer from recorded calls, read by pages."""

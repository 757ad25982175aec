"""The block ledger of sessions, for pages, files and the API."""

"""Database queries of the full-text search."""

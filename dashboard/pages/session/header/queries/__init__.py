"""Database queries of the headers."""

"""Database queries of a conversation."""

"""Database queries of both lists."""

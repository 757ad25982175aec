"""Database queries of open pages."""

"""Database queries that several pages share."""

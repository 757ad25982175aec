"""Database queries of the integrity page."""

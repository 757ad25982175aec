"""Database queries of the attention page."""

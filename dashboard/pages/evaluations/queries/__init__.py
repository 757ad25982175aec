"""Database queries of the evaluation pages."""

"""Database queries of configs in parallel groups."""

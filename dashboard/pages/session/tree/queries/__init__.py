"""Database queries of the tree of loops."""

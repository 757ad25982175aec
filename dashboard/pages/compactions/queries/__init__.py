"""Database queries of the compaction pages."""

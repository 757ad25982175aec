"""Database queries of compactions: records, requests around them, repeated calls."""

"""Database queries of the replay track."""

"""SQLite stores of other runtimes."""

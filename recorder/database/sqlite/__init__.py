"""Django's backend for SQLite, quicker with statements that it has seen before."""

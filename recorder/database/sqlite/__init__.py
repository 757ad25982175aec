"""Django's backend for SQLite, faster with repeated statements."""

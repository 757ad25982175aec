"""Database conditions of the keys, one module for each kind of record."""

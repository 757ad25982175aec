"""The tables, as they came to be."""

"""Waste in the database: found behind the writer from recorded calls, read by pages."""

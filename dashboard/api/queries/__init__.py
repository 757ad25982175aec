"""Queries of the read API: each page takes a fixed number of SQL queries."""

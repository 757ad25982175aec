"""Addresses, columns and downloads of list pages."""
